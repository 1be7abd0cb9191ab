// Every case of tests/run on the interpreter: what they expect is known from elsewhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "../../tests/run/test_case.h"
#include "cuda/result.h"
#include "interpreter/machine.h"
#include "ptx/parser.h"

namespace tutti::interpreter {
namespace {

std::vector<std::string> Cases() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(TUTTI_SOURCE_DIR "/tests/run/cases")) paths.push_back(entry.path());
  std::ranges::sort(paths);
  return paths;
}

class InterpretedCase : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Cases, InterpretedCase, testing::ValuesIn(Cases()), [](const auto& info) { return std::filesystem::path(info.param).stem().string(); });

Launch LaunchOf(const run_test::TestCase& test, std::vector<std::vector<uint8_t>>& buffers) {
  Launch launch{.dynamic_shared_bytes = test.shared_bytes};
  std::copy(test.grid, test.grid + 3, launch.grid.begin());
  std::copy(test.block, test.block + 3, launch.block.begin());
  for (const auto& argument : test.arguments) {
    std::vector<uint8_t> bytes = argument.bytes;
    if (argument.buffer >= 0) {
      const uint8_t* address = buffers[static_cast<size_t>(argument.buffer)].data();
      bytes.resize(sizeof address);
      std::memcpy(bytes.data(), &address, sizeof address);
    }
    launch.params.resize((launch.params.size() + bytes.size() - 1) / bytes.size() * bytes.size());
    launch.params.insert(launch.params.end(), bytes.begin(), bytes.end());
  }
  return launch;
}

void ExpectValues(const run_test::TestCase& test, const std::vector<std::vector<uint8_t>>& buffers) {
  for (const auto& expectation : test.expectations) {
    const auto& bytes = buffers[static_cast<size_t>(expectation.buffer)];
    const size_t size = run_test::BytesOf(expectation.type), given = expectation.values.size() - (expectation.values.back() == "..." ? 1 : 0);
    for (size_t i = 0; i < bytes.size() / size; ++i) {
      const std::string &value = expectation.values[std::min(i, given - 1)], got = run_test::Format(expectation.type, &bytes[i * size]);
      const bool both_nan = expectation.type[0] == 'f' && value.find("nan") != value.npos && got.find("nan") != got.npos;
      if (both_nan || std::memcmp(run_test::ParseValue(expectation.type, value).data(), &bytes[i * size], size) == 0) continue;
      ADD_FAILURE() << "line " << expectation.line << ": value " << i << " is " << got << ", expected " << value;
      break;
    }
  }
}

TEST_P(InterpretedCase, GivesWhatItExpects) {
  const run_test::TestCase test = run_test::ReadTestCase(GetParam());
  const auto module = ptx::Parse(test.ptx);
  int error = module ? 0 : module.error().code;
  if (module && !ptx::FunctionErrors(*module).empty()) error = cuda::CUDA_ERROR_INVALID_PTX;
  std::vector<std::vector<uint8_t>> buffers;
  for (const auto& buffer : test.buffers) buffers.push_back(buffer.bytes);
  Outcome outcome;
  if (error == 0) {
    Machine machine(*module);
    for (auto& buffer : buffers) machine.global().Map(buffer);
    outcome = machine.Run(test.kernel, LaunchOf(test, buffers));
    ASSERT_EQ(outcome.refused, "");
    if (outcome.fault) error = outcome.fault->error;
  }
  const char* name = error == 0 ? "CUDA_SUCCESS" : cuda::ResultName(error);
  EXPECT_EQ(std::string(name != nullptr ? name : "?"), test.error) << (outcome.fault ? outcome.fault->text : "");
  if (error != 0) return;
  EXPECT_FALSE(outcome.deadlock);
  EXPECT_EQ(outcome.output, test.output);
  ExpectValues(test, buffers);
}

}  // namespace
}  // namespace tutti::interpreter
