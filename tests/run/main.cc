// Runs one run test (test_case.h) through the driver API: `run_test [--bless] FILE`. --bless replaces the
// expected values by the computed ones; read the difference before committing it.
#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "../../bench/driver.h"
#include "../../src/cuda/types.h"
#include "test_case.h"

extern "C" int cuLaunchKernelEx(const tutti::cuda::CUlaunchConfig* config, CUfunction function, void** parameters,
                                void** extra);

namespace {

using run_test::TestCase;

struct Outcome {
  int error = 0;
  std::vector<std::vector<uint8_t>> buffers;
  std::string output;
};

// What the driver prints to stdout between construction and Take().
class CapturedOutput {
 public:
  CapturedOutput() : file_(std::tmpfile()), saved_(dup(1)) {
    std::fflush(stdout);
    dup2(fileno(file_), 1);
  }
  std::string Take() {
    std::fflush(stdout);
    dup2(saved_, 1);
    close(saved_);
    std::rewind(file_);
    std::string text(1 << 16, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), file_));
    std::fclose(file_);
    return text;
  }

 private:
  std::FILE* file_;
  int saved_;
};

Outcome Run(const TestCase& test) {
  Outcome outcome;
  bench::OpenDevice();
  CUmodule module;
  CUfunction function;
  if ((outcome.error = cuModuleLoadData(&module, test.ptx.c_str())) != 0) return outcome;
  if ((outcome.error = cuModuleGetFunction(&function, module, test.kernel.c_str())) != 0) return outcome;
  std::vector<CUdeviceptr> addresses;
  for (const run_test::Buffer& buffer : test.buffers) {
    CUdeviceptr address;
    CHECK_CU(cuMemAlloc_v2(&address, buffer.bytes.size()));
    CHECK_CU(cuMemcpyHtoD_v2(address, buffer.bytes.data(), buffer.bytes.size()));
    addresses.push_back(address);
  }
  std::vector<void*> pointers;
  for (const run_test::Argument& argument : test.arguments) {
    pointers.push_back(argument.buffer >= 0 ? static_cast<void*>(&addresses[static_cast<size_t>(argument.buffer)])
                                            : const_cast<uint8_t*>(argument.bytes.data()));
  }
  CapturedOutput captured;
  tutti::cuda::CUlaunchAttribute cluster{};
  cluster.id = tutti::cuda::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  cluster.value.clusterDim = {test.cluster[0], test.cluster[1], test.cluster[2]};
  const tutti::cuda::CUlaunchConfig config{.gridDimX = test.grid[0],
                                           .gridDimY = test.grid[1],
                                           .gridDimZ = test.grid[2],
                                           .blockDimX = test.block[0],
                                           .blockDimY = test.block[1],
                                           .blockDimZ = test.block[2],
                                           .sharedMemBytes = test.shared_bytes,
                                           .hStream = nullptr,
                                           .attrs = &cluster,
                                           .numAttrs = test.cluster[0] != 0 ? 1u : 0u};
  outcome.error = cuLaunchKernelEx(&config, function, pointers.data(), nullptr);
  if (outcome.error == 0) outcome.error = cuCtxSynchronize();
  outcome.output = captured.Take();
  if (outcome.error != 0) return outcome;
  for (size_t i = 0; i < addresses.size(); ++i) {
    std::vector<uint8_t> bytes(test.buffers[i].bytes.size());
    CHECK_CU(cuMemcpyDtoH_v2(bytes.data(), addresses[i], bytes.size()));
    outcome.buffers.push_back(std::move(bytes));
  }
  return outcome;
}

void Bless(const std::string& path, const TestCase& test, const Outcome& outcome) {
  std::istringstream in(test.ptx);
  std::string out, text;
  for (size_t line = 1; std::getline(in, text); ++line) {
    for (const run_test::Expectation& expectation : test.expectations) {
      if (expectation.line != line) continue;
      const size_t index = static_cast<size_t>(expectation.buffer), size = run_test::BytesOf(expectation.type);
      text = fmt::format("// expect {}: {} =", test.buffers[index].name, expectation.type);
      for (size_t i = 0; i < outcome.buffers[index].size(); i += size)
        text += " " + run_test::Format(expectation.type, &outcome.buffers[index][i]);
    }
    out += text + "\n";
  }
  std::ofstream(path) << out;
  fmt::print("{}: blessed\n", path);
}

}  // namespace

int main(int argc, char** argv) {
  const bool bless = argc == 3 && std::strcmp(argv[1], "--bless") == 0;
  if (argc != 2 + bless) {
    fmt::print(stderr, "usage: {} [--bless] FILE.ptx\n", argv[0]);
    return 3;
  }
  const std::string path = argv[argc - 1];
  const TestCase test = run_test::ReadTestCase(path);
  const Outcome outcome = Run(test);
  const char* name = "unknown error";
  cuGetErrorName(outcome.error, &name);
  if (test.error != name) {
    fmt::print("{}: ended with {}, expected {}\n", path, name, test.error);
    return 1;
  }
  if (outcome.output != test.output) {
    fmt::print("{}: printed \"{}\", expected \"{}\"\n", path, outcome.output, test.output);
    return 1;
  }
  if (outcome.error != 0) return 0;
  if (bless) {
    Bless(path, test, outcome);
    return 0;
  }
  const std::vector<std::string> wrong = run_test::Mismatches(test, outcome.buffers);
  for (const std::string& what : wrong) fmt::print("{}: {}\n", path, what);
  return wrong.empty() ? 0 : 1;
}
