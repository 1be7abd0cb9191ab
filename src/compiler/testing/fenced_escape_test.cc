// The hostile kernels of tests/fault/escape, fenced in PTX, on the block runner without a fence of its own: stray
// accesses are recorded, with their kind, and reach nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>

#include "../../../tests/run/test_case.h"
#include "compiler/fence/fence.h"
#include "compiler/testing/test_module.h"
#include "cuda/result.h"
#include "guest/gpu/fenced_ptx.h"
#include "ptx/parser.h"

namespace tutti::compiler {
namespace {

namespace fs = std::filesystem;

// A client's own memory, and its targets, which none of its kernels may see or change.
struct Memory {
  alignas(4096) uint8_t before[1 << 16];
  alignas(4096) uint8_t window[1 << 20];
  alignas(4096) uint8_t victim[1 << 16];

  Memory() {
    std::memset(before, 0x5e, sizeof before);
    std::memset(window, 0, sizeof window);
    std::memset(victim, 0x5e, sizeof victim);
  }
  bool IsUnharmed() const {
    const auto secret = [](uint8_t byte) { return byte == 0x5e; };
    return std::ranges::all_of(before, secret) && std::ranges::all_of(victim, secret);
  }
};

void Replace(std::string& text, const std::string& name, const void* address) {
  const std::string value = std::to_string(reinterpret_cast<uint64_t>(address));
  for (size_t at = 0; (at = text.find(name, at)) != text.npos;) text.replace(at, name.size(), value);
}

std::string ReadText(const fs::path& path, const Memory* memory) {
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  for (const char* const name : {"$victim", "$channel", "$heap", "$stack", "$text"})
    Replace(text, name, memory->victim);
  Replace(text, "$window_begin", memory->window);
  Replace(text, "$window_end", std::end(memory->window));
  return text;
}

std::set<uint32_t> MarkedLines(const std::string& text) {
  std::set<uint32_t> lines;
  uint32_t line = 1;
  for (size_t at = 0, end; at < text.size(); at = end + 1, ++line) {
    end = std::min(text.find('\n', at), text.size());
    if (text.substr(at, end - at).find("// faults") != text.npos) lines.insert(line);
  }
  return lines;
}

GridLaunch LaunchOf(const run_test::TestCase& test, Memory& memory) {
  GridLaunch launch;
  std::copy(test.grid, test.grid + 3, launch.grid.begin());
  std::copy(test.block, test.block + 3, launch.block.begin());
  launch.dynamic_shared_bytes = test.shared_bytes;
  uint8_t* place = memory.window;
  std::vector<uint8_t*> buffers;
  for (const auto& buffer : test.buffers) {
    buffers.push_back(place);
    std::memcpy(place, buffer.bytes.data(), buffer.bytes.size());
    place += (buffer.bytes.size() + 255) / 256 * 256;
  }
  for (const auto& argument : test.arguments) {
    std::vector<uint8_t> bytes = argument.bytes;
    if (argument.buffer >= 0) {
      bytes.resize(sizeof(uint8_t*));
      std::memcpy(bytes.data(), &buffers[static_cast<size_t>(argument.buffer)], bytes.size());
    }
    launch.params.resize((launch.params.size() + bytes.size() - 1) / bytes.size() * bytes.size());
    launch.params.insert(launch.params.end(), bytes.begin(), bytes.end());
  }
  return launch;
}

// Those with stray accesses; the others do nothing that address checks could see.
std::vector<fs::path> Programs() {
  std::vector<fs::path> paths;
  const auto nobodys = std::make_unique<Memory>();
  for (const auto& entry : fs::directory_iterator(TUTTI_SOURCE_DIR "/tests/fault/escape/programs")) {
    static const std::set<std::string> kErrors = {"CUDA_ERROR_ILLEGAL_ADDRESS", "CUDA_ERROR_MISALIGNED_ADDRESS",
                                                  "CUDA_ERROR_INVALID_PC"};
    const run_test::TestCase test = run_test::ParseTestCase(ReadText(entry.path(), nobodys.get()), entry.path());
    if (kErrors.contains(test.error)) paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  return paths;
}

class FencedEscape : public testing::TestWithParam<fs::path> {};
INSTANTIATE_TEST_SUITE_P(Programs, FencedEscape, testing::ValuesIn(Programs()),
                         [](const auto& info) { return info.param.stem().string(); });

TEST_P(FencedEscape, IsRecorded) {
  const auto memory = std::make_unique<Memory>();
  const std::string text = ReadText(GetParam(), memory.get());
  const run_test::TestCase test = run_test::ParseTestCase(text, GetParam());
  auto parsed = ptx::Parse(test.ptx);
  ASSERT_TRUE(parsed) << parsed.error().text;
  const auto fenced = FencePtx(std::move(*parsed));
  ASSERT_TRUE(fenced) << fenced.error().text;
  if (!fenced->refused.empty()) return;  // it is not launched
  auto module = TestModule::Open(fenced->ptx, {.check_addresses = false, .target = HostTarget::Detect()});
  ASSERT_TRUE(module) << module.error().text;
  guest::FenceFault fault{};
  const guest::FenceWords words{reinterpret_cast<uint64_t>(memory->window), sizeof memory->window,
                                reinterpret_cast<uint64_t>(&fault), 0};
  std::memcpy(module->Variable(guest::kFenceVariable), &words, sizeof words);
  const auto result = module->Run(test.kernel, LaunchOf(test, *memory));
  ASSERT_TRUE(result) << result.error().text;
  EXPECT_FALSE(result->fault) << "it got past the checks, to " << std::hex << result->fault->address;
  EXPECT_EQ(fault.state, 2u);
  const char* const name = cuda::ResultName(static_cast<int>(fault.kind));
  EXPECT_EQ(std::string(name != nullptr ? name : "?"), test.error);
  EXPECT_TRUE(memory->IsUnharmed());
  const std::set<uint32_t> marked = MarkedLines(test.ptx);
  if (!marked.empty()) {
    EXPECT_TRUE(marked.contains(fault.ptx_line)) << fault.ptx_line;
  }
}

}  // namespace
}  // namespace tutti::compiler
