// Blocks of a row of the grid whose code goes through them by itself.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "guest/exec/block_run.h"
#include "guest/exec/guest_switch.h"
#include "guest/exec/sanitizers.h"

namespace tutti::guest {
namespace {

struct RowNotes {
  std::vector<uint64_t> blocks;  // 100 y + x
  uint32_t calls = 0;
  void (*in_block)(WarpState* warps, uint32_t x) = nullptr;
} g_row;

void GoThroughRow(WarpState* warps, uint32_t) {
  BlockState& block = *warps->block;
  ++g_row.calls;
  uint32_t x = block.ctaid[0];
  do {
    g_row.blocks.push_back(100 * block.ctaid[1] + x);
    if (g_row.in_block != nullptr) g_row.in_block(warps, x);
    __atomic_store_n(block.ctaid, ++x, __ATOMIC_RELAXED);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } while (x < __atomic_load_n(&block.ctaid_end, __ATOMIC_RELAXED));
}

class BlockRunRow : public testing::Test {
 protected:
  BlockRunRow() : scope_((InstallGuestFaultHandlers(), &thread_)) {}
  void SetUp() override {
    if (!kAsyncLeave) GTEST_SKIP() << "code is to return after each block";
    g_row = {};
    g_row.blocks.reserve(64);
  }
  void PrepareTo(uint64_t end, uint64_t first = 0) {
    ASSERT_TRUE(run_.Prepare(launch_, first, 0));
    run_.GoOnTo(end);
  }

  GuestThread thread_;
  GuestThreadScope scope_;
  BlockRun run_;
  KernelDescriptor kernel_{.run = &GoThroughRow, .stack_bytes = 4096};
  KernelLaunch launch_{.descriptor = &kernel_, .grid = {4, 3, 1}, .block = {64, 1, 1}};
};

TEST_F(BlockRunRow, CodeIsEnteredOnceForEachRow) {
  PrepareTo(10, 1);
  EXPECT_EQ(run_.Run(&thread_), LeaveReason::kFinished);
  EXPECT_EQ(run_.index(), 9u);
  EXPECT_EQ(g_row.blocks, (std::vector<uint64_t>{1, 2, 3, 100, 101, 102, 103, 200, 201}));
  EXPECT_EQ(g_row.calls, 3u);
  run_.PrepareNext(10);
  EXPECT_EQ(run_.Run(&thread_), LeaveReason::kFinished);
  EXPECT_EQ(run_.index(), 10u) << "it was not told to go on";
  EXPECT_EQ(g_row.blocks.back(), 202u);
}

TEST_F(BlockRunRow, CodeWhoseWarpsMayWaitOrEndGetsOneBlockAtATime) {
  for (const uint32_t flag : {uint32_t{kYields}, uint32_t{kEndsLanes}, uint32_t{kCooperative}}) {
    g_row.blocks.clear();
    kernel_.flags = flag;
    launch_.block[0] = 32;
    PrepareTo(2);
    EXPECT_EQ(run_.state().ctaid_end, 1u);
    EXPECT_EQ(run_.Run(&thread_), LeaveReason::kFinished);
    EXPECT_EQ(g_row.blocks.front(), 0u);
    EXPECT_EQ(run_.index() + 1, g_row.blocks.size());
  }
}

TEST_F(BlockRunRow, BlocksOfAClusterDoNotGoOnByThemselves) {
  launch_.cluster[0] = 2;
  PrepareTo(2);
  EXPECT_EQ(run_.Run(&thread_), LeaveReason::kFinished);
  EXPECT_EQ(g_row.blocks, (std::vector<uint64_t>{0, 1}));
  EXPECT_EQ(g_row.calls, 2u);
}

TEST_F(BlockRunRow, AFaultIsOfTheBlockThatTheCodeIsIn) {
  g_row.in_block = [](WarpState* warps, uint32_t x) {
    if (x == 2) warps->block->services->fault(warps, FaultKind::kIllegalAddress, 0, 0, 0);
  };
  PrepareTo(8);
  EXPECT_EQ(run_.Run(&thread_), LeaveReason::kFault);
  EXPECT_EQ(run_.index(), 2u);
  EXPECT_EQ(run_.state().ctaid[0], 2u);
  run_.GiveUp();
  g_row.in_block = [](WarpState*, uint32_t x) {
    if (x == 3) asm volatile("ud2");
  };
  PrepareTo(8, 4);
  EXPECT_EQ(run_.Run(&thread_), LeaveReason::kSignal);
  EXPECT_EQ(run_.index(), 7u);
  EXPECT_EQ(run_.state().ctaid[0], 3u);
  EXPECT_EQ(run_.state().ctaid[1], 1u);
  run_.GiveUp();
}

// What it is told to do in its last block but one, in front of the next.
std::atomic<bool> g_entered, g_go;

void WaitInSecond(WarpState*, uint32_t x) {
  if (x != 1) return;
  g_entered = true;
  while (!g_go.load(std::memory_order_relaxed)) {
  }
}

class BlockRunRowStopped : public BlockRunRow {
 protected:
  // Runs until it is stopped in its second block. Returns when it has been asked, if `goes_on` to go on at once.
  LeaveReason RunAndStop(StopReason reason, bool goes_on = false) {
    g_entered = g_go = false;
    std::thread other([&] {
      while (!g_entered) std::this_thread::yield();
      thread_.stop = reason;
      thread_.Interrupt();
      if (!goes_on) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));  // for the signal to arrive
      g_go = true;
    });
    const LeaveReason leave = run_.Run(&thread_);
    other.join();
    thread_.stop = StopReason::kNone;
    return leave;
  }
};

TEST_F(BlockRunRowStopped, APreemptedOneGoesOnInItsBlockAndNoFurther) {
  g_row.in_block = &WaitInSecond;
  PrepareTo(4);
  EXPECT_EQ(RunAndStop(StopReason::kPreempt), LeaveReason::kStopped);
  EXPECT_EQ(run_.index(), 1u);
  EXPECT_EQ(run_.state().ctaid[0], 1u);
  run_.GoOnTo(run_.index() + 1);  // the others are for another SM
  g_go = true;
  EXPECT_EQ(run_.Run(&thread_), LeaveReason::kFinished);
  EXPECT_EQ(run_.index(), 1u);
  EXPECT_EQ(g_row.blocks, (std::vector<uint64_t>{0, 1}));
}

TEST_F(BlockRunRowStopped, OneThatHasNoStackToBeLeftOnEndsWithItsBlock) {
  g_row.in_block = [](WarpState* warps, uint32_t x) {
    const auto here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
    const uint64_t low = warps->stack_limit - (16 << 10) - kPreemptBytes - (8 << 10);
    auto* const rest = static_cast<volatile char*>(__builtin_alloca(here - low - kPreemptBytes / 2));
    rest[0] = 0;
    WaitInSecond(warps, x);
  };
  PrepareTo(4);
  EXPECT_EQ(RunAndStop(StopReason::kPreempt, true), LeaveReason::kFinished);
  EXPECT_EQ(run_.index(), 1u);
  EXPECT_EQ(g_row.blocks, (std::vector<uint64_t>{0, 1}));
}

TEST_F(BlockRunRow, NewerCodeGetsTheNextRow) {
  static const KernelDescriptor newer{.run = [](WarpState*, uint32_t) { g_row.blocks.push_back(999); },
                                      .stack_bytes = 4096};
  static std::atomic<const KernelDescriptor*> newest;
  newest = &kernel_;
  launch_.newest = &newest;
  g_row.in_block = [](WarpState*, uint32_t) { newest = &newer; };
  PrepareTo(8);
  EXPECT_EQ(run_.Run(&thread_), LeaveReason::kFinished);
  EXPECT_EQ(run_.index(), 3u);
  EXPECT_FALSE(run_.HasNewest());
}

// Every call of the device runtime fails.
class NoRuntime final : public KernelHost {
 public:
  int32_t Print(const GuestMemory&, uint64_t, uint64_t) override { return 0; }
  uint64_t HeapAllocate(uint64_t) override { return 0; }
  void HeapRelease(uint64_t) override {}
  void AssertFailed(const GuestMemory&, const Assertion&) override {}
  bool SetCondition(uint64_t, uint32_t) override { return false; }
  bool MayTouch(uint64_t, uint64_t, bool) const override { return false; }
  void CallRuntime(const KernelLaunch& launch, RuntimeCall* call) override {
    called_by.push_back(call->block);
    KernelHost::CallRuntime(launch, call);
  }
  std::vector<uint64_t> called_by;
};

TEST_F(BlockRunRow, ABlockDoesNotFindTheErrorOfTheOneBefore) {
  static std::vector<uint64_t> errors;
  errors.clear();
  g_row.in_block = [](WarpState* warps, uint32_t x) {
    const auto call = [&](RuntimeFunction function) {
      return warps->block->services->device_runtime(warps, 0, static_cast<uint32_t>(function),
                                                    reinterpret_cast<uint64_t>(warps->local));
    };
    errors.push_back(call(RuntimeFunction::kPeekAtLastError));
    if (x != 1) call(RuntimeFunction::kMalloc);
    errors.push_back(call(RuntimeFunction::kPeekAtLastError));
  };
  NoRuntime host;
  launch_.host = &host;
  kernel_.local_bytes = 256;
  PrepareTo(3);
  EXPECT_EQ(run_.Run(&thread_), LeaveReason::kFinished);
  const auto failed = static_cast<uint64_t>(RuntimeError::kNotSupported);
  EXPECT_EQ(errors, (std::vector<uint64_t>{0, failed, 0, 0, 0, failed}));
  EXPECT_EQ(host.called_by, (std::vector<uint64_t>{0, 2}));
  EXPECT_EQ(g_row.calls, 1u);
}

}  // namespace
}  // namespace tutti::guest
