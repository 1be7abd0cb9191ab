// Every case of tests/run (a PTX file with its inputs and expected outputs) on the block runner: the same files that
// tests/run/main.cc gives to the whole system.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "../../../tests/run/test_case.h"
#include "compiler/fence/fence.h"
#include "compiler/testing/test_module.h"
#include "cuda/result.h"
#include "guest/gpu/fenced_ptx.h"
#include "ptx/parser.h"

namespace tutti::compiler {
namespace {

class RunCase : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Cases, RunCase, testing::ValuesIn(run_test::CasesIn(TUTTI_SOURCE_DIR "/tests/run/cases")),
                         [](const auto& info) { return std::filesystem::path(info.param).stem().string(); });

// Each buffer ends where an unmapped or foreign byte would be noticed by the fence.
GridLaunch LaunchOf(const run_test::TestCase& test, const std::vector<std::vector<uint8_t>>& buffers) {
  GridLaunch launch{.params = run_test::PackArguments(test, buffers), .dynamic_shared_bytes = test.shared_bytes};
  std::copy(test.grid, test.grid + 3, launch.grid.begin());
  std::copy(test.block, test.block + 3, launch.block.begin());
  if (test.cluster[0] != 0) std::copy(test.cluster, test.cluster + 3, launch.cluster.begin());
  return launch;
}

void ExpectValues(const run_test::TestCase& test, const std::vector<std::vector<uint8_t>>& buffers) {
  for (const std::string& wrong : run_test::Mismatches(test, buffers)) ADD_FAILURE() << wrong;
}

struct CaseOutcome {
  std::string error, why, output;
  std::vector<std::vector<uint8_t>> buffers;
};

CaseOutcome RunOf(const run_test::TestCase& test, const CompileOptions& options,
                  NewerCode newer_code = NewerCode::kNever, const guest::KernelDescriptor* newer = nullptr) {
  CaseOutcome outcome;
  for (const auto& buffer : test.buffers) outcome.buffers.push_back(buffer.bytes);
  int error = 0;
  auto module = TestModule::Open(test.ptx, options);
  GridLaunch launch = LaunchOf(test, outcome.buffers);
  launch.newer_code = newer_code;
  launch.newer = newer;
  Result<GridResult> result = module ? module->Run(test.kernel, std::move(launch)) : std::unexpected(module.error());
  if (!result) {
    error = result.error().code;
    outcome.why = result.error().text;
  } else if (result->fault) {
    error = static_cast<int>(result->fault->kind);
    outcome.why = "fault in thread " + std::to_string(result->fault->thread) + ", PTX line " +
                  std::to_string(result->fault->ptx_line) + ' ' + result->fault->text;
  } else {
    outcome.output = result->output;
  }
  const char* name = error == 0 ? "CUDA_SUCCESS" : cuda::ResultName(error);
  outcome.error = name != nullptr ? name : "?";
  return outcome;
}

void ExpectWhatItSays(const run_test::TestCase& test, const CaseOutcome& outcome) {
  EXPECT_EQ(outcome.error, test.error) << outcome.why;
  if (outcome.error != "CUDA_SUCCESS") return;
  if (!test.output.empty()) {
    EXPECT_EQ(outcome.output, test.output);
  }
  ExpectValues(test, outcome.buffers);
}

TEST_P(RunCase, GivesWhatItExpects) {
  const run_test::TestCase test = run_test::ReadTestCase(GetParam());
  ExpectWhatItSays(test, RunOf(test, {.target = HostTarget::Detect()}));
}

// As in functions too large for one, where turns end at barriers. Kernels whose lanes meet apart end in the same fault
// as where turns end nowhere.
TEST_P(RunCase, GivesTheSameWithoutACopyForLanesThatMeetApart) {
  const run_test::TestCase test = run_test::ReadTestCase(GetParam());
  if (!test.ptx.contains("bar")) return;  // its turns end nowhere
  const CaseOutcome outcome = RunOf(test, {.apart_copies = false, .target = HostTarget::Detect()});
  if (outcome.error == "CUDA_ERROR_LAUNCH_FAILED" && test.error == "CUDA_SUCCESS") {
    EXPECT_EQ(RunOf(test, {.turns_end = false, .apart_copies = false, .target = HostTarget::Detect()}).why,
              outcome.why);
    return;
  }
  ExpectWhatItSays(test, outcome);
}

// Kernels that are not for it say so.
TEST_P(RunCase, GivesTheSameAThreadAtATime) {
  const run_test::TestCase test = run_test::ReadTestCase(GetParam());
  const CaseOutcome outcome = RunOf(test, {.quick = true, .quick_for_all = true, .target = HostTarget::Detect()});
  if (outcome.error == "CUDA_ERROR_NOT_SUPPORTED" && outcome.why.contains("a thread at a time"))
    GTEST_SKIP() << outcome.why;
  ExpectWhatItSays(test, outcome);
}

// Each at the first moment where a block may begin anew, and at others; in the same code, and in the optimised one.
TEST_P(RunCase, GivesTheSameWhereBlocksBeginAnew) {
  const run_test::TestCase test = run_test::ReadTestCase(GetParam());
  auto optimised = TestModule::Open(test.ptx);
  if (!optimised) GTEST_SKIP() << optimised.error().text;
  const auto kernel = optimised->Kernel(test.kernel, {test.block[0], test.block[1], test.block[2]});
  if (!kernel) GTEST_SKIP() << kernel.error().text;
  constexpr const guest::KernelDescriptor* kTheSame = nullptr;
  const CompileOptions quick{
      .quick = true, .quick_for_all = true, .quick_renews_all = true, .target = HostTarget::Detect()};
  for (const NewerCode when : {NewerCode::kAtOnce, NewerCode::kNowAndThen}) {
    for (const guest::KernelDescriptor* newer : {&(*kernel)->descriptor(), kTheSame}) {
      const CaseOutcome outcome = RunOf(test, quick, when, newer);
      if (outcome.error == "CUDA_ERROR_NOT_SUPPORTED" && outcome.why.contains("a thread at a time"))
        GTEST_SKIP() << outcome.why;
      ExpectWhatItSays(test, outcome);
    }
  }
}

// What the fence refuses, and so no GPU runs.
constexpr const char* kNotFenced[] = {
    "\n  alloca", "\n  st.async", "\n  mapa",   "\n  tensormap",
    "\n  wgmma",  ".bulk.tensor", "multimem.l", "ldmatrix.sync.aligned.m8n8.x1.b16 {%r5}, [%d6]"};

// With checks in the PTX itself a faulting thread leaves a record and ends; everything else is as before.
TEST_P(RunCase, GivesTheSameWithFencedPtx) {
  if (GetParam().find("a_trap_under_a_lock") != std::string::npos)
    GTEST_SKIP() << "who waits for the thread that ended is ended by the device";
  const run_test::TestCase test = run_test::ReadTestCase(GetParam());
  auto parsed = ptx::Parse(test.ptx);
  if (!parsed || !ptx::FunctionErrors(*parsed).empty()) GTEST_SKIP() << "there is nothing to fence";
  const auto fenced = FencePtx(std::move(*parsed));
  ASSERT_TRUE(fenced) << fenced.error().text;
  for (const char* statement : kNotFenced) {
    if (test.ptx.find(statement) == std::string::npos) continue;
    ASSERT_FALSE(fenced->refused.empty());
    EXPECT_THAT(fenced->refused[0].second, testing::HasSubstr("cannot be fenced"));
    return;
  }
  ASSERT_TRUE(fenced->refused.empty()) << fenced->refused[0].second;
  auto module = TestModule::Open(fenced->ptx);
  ASSERT_TRUE(module) << module.error().text;

  std::vector<std::vector<uint8_t>> buffers;
  for (const auto& buffer : test.buffers) buffers.push_back(buffer.bytes);
  guest::FenceFault fault{};
  // All of a process's memory but the first page: where each buffer ends the other fence tests.
  const guest::FenceWords words{4096, uint64_t{1} << 47, reinterpret_cast<uint64_t>(&fault), 0};
  void* variable = module->Variable(guest::kFenceVariable);
  ASSERT_NE(variable, nullptr);
  std::memcpy(variable, &words, sizeof words);
  auto result = module->Run(test.kernel, LaunchOf(test, buffers));
  ASSERT_TRUE(result) << result.error().text;
  if (result->fault && result->fault->kind == guest::FaultKind::kHardwareStackError) return;  // of no address
  ASSERT_FALSE(result->fault) << static_cast<int>(result->fault->kind) << ", PTX line " << result->fault->ptx_line;
  const char* name = fault.state == 0 ? "CUDA_SUCCESS" : cuda::ResultName(static_cast<int>(fault.kind));
  EXPECT_EQ(std::string(name != nullptr ? name : "?"), test.error) << "at line " << fault.ptx_line;
  if (fault.state != 0) {
    EXPECT_EQ(fault.state, 2u);
    return;
  }
  if (!test.output.empty()) {
    EXPECT_EQ(result->output, test.output);
  }
  ExpectValues(test, buffers);
}

}  // namespace
}  // namespace tutti::compiler
