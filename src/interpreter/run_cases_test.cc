// Runs every case of tests/run on the interpreter; the expected values come from elsewhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "../../tests/run/test_case.h"
#include "cuda/result.h"
#include "interpreter/machine.h"
#include "ptx/parser.h"

namespace tutti::interpreter {
namespace {

class InterpretedCase : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Cases, InterpretedCase,
                         testing::ValuesIn(run_test::CasesIn(TUTTI_SOURCE_DIR "/tests/run/cases")),
                         [](const auto& info) { return std::filesystem::path(info.param).stem().string(); });

Launch LaunchOf(const run_test::TestCase& test, const std::vector<std::vector<uint8_t>>& buffers) {
  Launch launch{.params = run_test::PackArguments(test, buffers), .dynamic_shared_bytes = test.shared_bytes};
  std::copy(test.grid, test.grid + 3, launch.grid.begin());
  std::copy(test.block, test.block + 3, launch.block.begin());
  if (test.cluster[0] != 0) std::copy(test.cluster, test.cluster + 3, launch.cluster.begin());
  return launch;
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
  for (const std::string& wrong : run_test::Mismatches(test, buffers)) ADD_FAILURE() << wrong;
}

}  // namespace
}  // namespace tutti::interpreter
