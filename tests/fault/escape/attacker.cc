#include "attacker.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

#include "../../compat/driver_api.h"
#include "stage.h"

namespace tutti::fault {
namespace {

using namespace cuda;

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void Replace(std::string& text, const std::string& name, uint64_t value) {
  for (size_t at = 0; (at = text.find(name, at)) != std::string::npos;)
    text.replace(at, name.size(), std::to_string(value));
}

// Of this process, which is attached.
void ReplaceWindow(std::string& text) {
  std::ifstream maps("/proc/self/maps");
  uint64_t begin = 0, end = 0;
  for (std::string line; std::getline(maps, line);) {
    uint64_t from = 0, to = 0;
    if (line.find("memfd:tutti-window") == std::string::npos || std::sscanf(line.c_str(), "%lx-%lx", &from, &to) != 2)
      continue;
    if (begin == 0) begin = from;
    end = to;
  }
  Replace(text, "$window_begin", begin);
  Replace(text, "$window_end", end);
}

CUresult Launch(const run_test::TestCase& test, AttackPage& page, std::vector<CUdeviceptr>& addresses) {
  CUmodule module;
  CUfunction function;
  if (const CUresult error = cuModuleLoadData(&module, test.ptx.c_str())) return error;
  if (const CUresult error = cuModuleGetFunction(&function, module, test.kernel.c_str())) return error;
  for (const run_test::Buffer& buffer : test.buffers) {
    if (const CUresult error = cuMemAlloc_v2(&addresses.emplace_back(), buffer.bytes.size())) return error;
    if (const CUresult error = cuMemcpyHtoD_v2(addresses.back(), buffer.bytes.data(), buffer.bytes.size()))
      return error;
  }
  std::vector<void*> arguments;
  for (const run_test::Argument& argument : test.arguments) {
    arguments.push_back(argument.buffer >= 0 ? static_cast<void*>(&addresses[static_cast<size_t>(argument.buffer)])
                                             : const_cast<uint8_t*>(argument.bytes.data()));
  }
  const CUresult error =
      cuLaunchKernel(function, test.grid[0], test.grid[1], test.grid[2], test.block[0], test.block[1], test.block[2],
                     test.shared_bytes, nullptr, arguments.data(), nullptr);
  if (error != CUDA_SUCCESS) return error;
  page.launched.store(true);
  return cuCtxSynchronize();
}

// Whether any four consecutive bytes of the secret occur in `bytes`.
bool HasSecret(const std::vector<uint8_t>& bytes) {
  const std::string secret(kSecret, sizeof kSecret - 1);
  for (size_t i = 0; i + 4 <= bytes.size(); ++i) {
    const std::string four(reinterpret_cast<const char*>(&bytes[i]), 4);
    if (secret.find(four) != std::string::npos) return true;
  }
  return false;
}

bool Leaked(const run_test::TestCase& test, const std::vector<CUdeviceptr>& addresses) {
  for (size_t i = 0; i < addresses.size(); ++i) {
    std::vector<uint8_t> bytes(test.buffers[i].bytes.size());
    if (cuMemcpyDtoH_v2(bytes.data(), addresses[i], bytes.size()) == CUDA_SUCCESS && HasSecret(bytes)) return true;
  }
  return false;
}

// Of the marked instruction, as a report says it.
std::string WhereItFaults(const std::string& text) {
  const size_t mark = text.find("; // faults");
  if (mark == std::string::npos) return "";
  const std::string rest = text.substr(mark, text.find('\n', mark) - mark), thread = "thread ";
  const size_t number = rest.find(thread);
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(mark), '\n');
  return "thread (" + (number == std::string::npos ? "0" : rest.substr(number + thread.size())) + ",0,0), PTX line " +
         std::to_string(line);
}

}  // namespace

Program ReadProgram(const std::string& path) {
  const std::string text = TextOf(path);
  return {.test = run_test::ParseTestCase(text, path),
          .endless = text.find("\n// endless\n") != std::string::npos,
          .loses_shared_context = text.find("\n// loses a shared context\n") != std::string::npos,
          .where = WhereItFaults(text)};
}

void RunProgram(const std::string& path, AttackPage& page) {
  // The kernel's printed output is searched for the secret, too.
  std::FILE* const output = std::tmpfile();
  dup2(fileno(output), STDOUT_FILENO);

  CUcontext context;
  if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
      cuCtxSetCurrent(context) != CUDA_SUCCESS) {
    std::strcpy(page.note, "the attacker has found no device");
    _exit(1);
  }
  std::string text = TextOf(path);
  ReplaceWindow(text);
  const Targets& targets = Stage::Get().targets();
  Replace(text, "$victim", targets.victim);
  Replace(text, "$channel", targets.channel);
  Replace(text, "$heap", targets.heap);
  Replace(text, "$stack", targets.stack);
  Replace(text, "$text", targets.text);
  const run_test::TestCase test = run_test::ParseTestCase(text, path);
  std::vector<CUdeviceptr> addresses;
  const CUresult outcome = Launch(test, page, addresses);
  if (outcome == CUDA_SUCCESS && Leaked(test, addresses)) page.leaked.store(true);
  std::fflush(stdout);
  std::vector<uint8_t> printed(1 << 20);
  std::rewind(output);
  printed.resize(std::fread(printed.data(), 1, printed.size(), output));
  if (HasSecret(printed)) page.leaked.store(true);
  page.again.store(cuCtxSynchronize());
  page.outcome.store(outcome);
  _exit(0);
}

}  // namespace tutti::fault
