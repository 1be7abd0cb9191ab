// What a fenced kernel does before anything else, where its launch can be withdrawn.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <thread>

#include "compiler/fence/fence.h"
#include "compiler/testing/test_module.h"
#include "guest/gpu/fenced_ptx.h"
#include "ptx/parser.h"

namespace tutti::compiler {
namespace {

// Each thread counts itself.
constexpr const char* kCounts = R"(.version 7.8
.target sm_80
.address_size 64
.visible .entry k(.param .u64 counter, .param .u32 odd)
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd0, [counter];
  atom.global.add.u32 %r0, [%rd0], 1;
  ret;
}
)";

class FencedLaunch : public testing::Test {
 protected:
  static constexpr uint32_t kBlocks = 4, kThreads = 64;

  FencedLaunch() {
    auto parsed = ptx::Parse(kCounts);
    const auto fenced = FencePtx(std::move(*parsed), kSharedContext);
    auto module = TestModule::Open(fenced->ptx, {.check_addresses = false, .target = HostTarget::Detect()});
    EXPECT_TRUE(module) << module.error().text;
    module_.emplace(std::move(*module));
    SetGates(gates_.get());
  }
  void SetGates(const guest::LaunchGates* gates) {
    const guest::FenceWords words{.run_base = reinterpret_cast<uint64_t>(&window_),
                                  .run_bytes = sizeof window_,
                                  .fault = reinterpret_cast<uint64_t>(&fault_),
                                  .gates = reinterpret_cast<uint64_t>(gates)};
    std::memcpy(module_->Variable(guest::kFenceVariable), &words, sizeof words);
  }
  // How many threads have gone on.
  uint32_t Launch(uint64_t number) {
    window_.counter = 0;
    const auto result = module_->Run("k", GridLaunch{.grid = {kBlocks, 1, 1}, .block = {kThreads, 1, 1}}
                                              .Param(&window_.counter)
                                              .Param(uint32_t{0})
                                              .Param(number));
    EXPECT_TRUE(result && !result->fault);
    return window_.counter;
  }
  void SetVerdict(guest::LaunchVerdict verdict) {
    std::atomic_ref(gates_->verdict).store(static_cast<uint64_t>(verdict), std::memory_order_seq_cst);
  }
  uint64_t Begun(uint64_t number) {
    return std::atomic_ref(gates_->begun[number % guest::kLaunchGates]).load(std::memory_order_seq_cst);
  }

  std::optional<TestModule> module_;
  struct {
    alignas(32) uint32_t counter;
  } window_{};
  const std::unique_ptr<guest::LaunchGates> gates_ = std::make_unique<guest::LaunchGates>();
  guest::FenceFault fault_{};
};

TEST_F(FencedLaunch, SaysThatItHasBegun) {
  const uint64_t number = guest::kLaunchGates + 7;
  EXPECT_EQ(Launch(number), kBlocks * kThreads);
  EXPECT_EQ(Begun(number), 2 * number + 1);
  EXPECT_EQ(Launch(number + guest::kLaunchGates), kBlocks * kThreads) << "the next one with that gate";
  EXPECT_EQ(Begun(number), 2 * (number + guest::kLaunchGates) + 1);
}

TEST_F(FencedLaunch, DoesNothingOnceItIsWithdrawn) {
  SetVerdict(guest::LaunchVerdict::kEnd);
  EXPECT_EQ(Launch(1), 0u);
  EXPECT_EQ(Begun(1) / 2, 1u) << "it says that it has come";
  EXPECT_EQ(fault_.state, 0u);
}

TEST_F(FencedLaunch, WaitsForAVerdict) {
  for (const auto verdict : {guest::LaunchVerdict::kGoOn, guest::LaunchVerdict::kEnd}) {
    SetVerdict(guest::LaunchVerdict::kWait);
    const uint64_t number = 10 + static_cast<uint64_t>(verdict);
    std::thread judge([&] {
      while (Begun(number) != 2 * number) std::this_thread::yield();
      EXPECT_EQ(window_.counter, 0u);
      SetVerdict(verdict);
    });
    EXPECT_EQ(Launch(number), verdict == guest::LaunchVerdict::kGoOn ? kBlocks * kThreads : 0);
    judge.join();
  }
}

TEST_F(FencedLaunch, BlocksOfOneThatHasBegunGoOnWhateverComes) {
  gates_->begun[3] = 2 * 3 + 1;
  SetVerdict(guest::LaunchVerdict::kWait);
  EXPECT_EQ(Launch(3), kBlocks * kThreads);
}

TEST_F(FencedLaunch, WithoutANumberOrGatesGoesOn) {
  SetVerdict(guest::LaunchVerdict::kEnd);
  EXPECT_EQ(Launch(0), kBlocks * kThreads);
  SetGates(nullptr);
  EXPECT_EQ(Launch(5), kBlocks * kThreads);
}

}  // namespace
}  // namespace tutti::compiler
