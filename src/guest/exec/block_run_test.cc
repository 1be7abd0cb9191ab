// Getting a thread out of a block that it is about to enter, is in, or returns to.
#include "guest/exec/block_run.h"

#include <gtest/gtest.h>
#include <immintrin.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "guest/exec/guest_switch.h"
#include "guest/exec/sanitizers.h"

namespace tutti::guest {
namespace {

class BlockRunTest : public testing::Test {
 protected:
  BlockRunTest() : scope_((InstallGuestFaultHandlers(), &thread_)) {}

  GuestThread thread_;
  GuestThreadScope scope_;
  BlockRun run_;
};

struct Progress {
  std::atomic<uint64_t> entered{0};
  std::atomic<bool> go{true};
};

void Enter(const void* argument, uint64_t) {
  auto* const progress = static_cast<Progress*>(const_cast<void*>(argument));
  ++progress->entered;
  while (!progress->go.load(std::memory_order_relaxed)) {
  }
}

TEST_F(BlockRunTest, AStopThatCameBeforeTheFirstInstructionIsHeard) {
  Progress progress;
  ASSERT_TRUE(run_.PrepareCall(&Enter, &progress, 0));
  thread_.stop = StopReason::kPreempt;  // its signal arrived in our own code
  EXPECT_EQ(run_.Run(&thread_), LeaveReason::kStopped);
  EXPECT_EQ(progress.entered, 0u);
  thread_.stop = StopReason::kNone;
  EXPECT_EQ(run_.Run(&thread_), LeaveReason::kFinished);
  EXPECT_EQ(progress.entered, 1u);
}

TEST_F(BlockRunTest, AStopThatCameBeforeAPreemptedBlockGoesOnIsHeard) {
  if (!kAsyncLeave) GTEST_SKIP() << "needs blocks to be preempted at any instruction";
  Progress progress;
  progress.go = false;
  ASSERT_TRUE(run_.PrepareCall(&Enter, &progress, 0));
  std::thread other([&] {
    while (progress.entered == 0) std::this_thread::yield();
    thread_.stop = StopReason::kPreempt;
    thread_.Interrupt();
  });
  EXPECT_EQ(run_.Run(&thread_), LeaveReason::kStopped);
  other.join();
  EXPECT_EQ(run_.Run(&thread_), LeaveReason::kStopped) << "still told to";
  thread_.stop = StopReason::kNone;
  progress.go = true;
  EXPECT_EQ(run_.Run(&thread_), LeaveReason::kFinished);
  EXPECT_EQ(progress.entered, 1u);
}

struct Calls {
  GuestThread* thread;
  uint64_t stops_in;
  std::vector<uint64_t> seen;
};

void Note(const void* argument, uint64_t index) {
  auto* const calls = static_cast<Calls*>(const_cast<void*>(argument));
  calls->seen.push_back(index);
  if (index == calls->stops_in) calls->thread->stop = StopReason::kPreempt;  // its signal will arrive in our own code
}

TEST_F(BlockRunTest, OneContextGoesOnToFurtherIndices) {
  Calls calls{&thread_, ~uint64_t{0}, {}};
  calls.seen.reserve(8);
  ASSERT_TRUE(run_.PrepareCall(&Note, &calls, 3));
  run_.GoOnTo(7);
  EXPECT_EQ(run_.Run(&thread_), LeaveReason::kFinished);
  EXPECT_EQ(calls.seen, (std::vector<uint64_t>{3, 4, 5, 6}));
  EXPECT_EQ(run_.index(), 6u);
  ASSERT_TRUE(run_.PrepareCall(&Note, &calls, 8));
  EXPECT_EQ(run_.Run(&thread_), LeaveReason::kFinished);
  EXPECT_EQ(run_.index(), 8u) << "it was not told to go on";
}

TEST_F(BlockRunTest, AThreadThatIsAskedToStopBeginsNoFurtherIndex) {
  Calls calls{&thread_, 1, {}};
  calls.seen.reserve(8);
  ASSERT_TRUE(run_.PrepareCall(&Note, &calls, 0));
  run_.GoOnTo(4);
  EXPECT_EQ(run_.Run(&thread_), LeaveReason::kFinished);
  EXPECT_EQ(run_.index(), 1u);
  EXPECT_EQ(calls.seen, (std::vector<uint64_t>{0, 1}));
}

std::vector<uint32_t> g_lanes;  // of each warp, as it began

void EndLanes(WarpState* warps, uint32_t count) {
  for (uint32_t w = 0; w < count; ++w) {
    g_lanes.push_back(warps[w].lanes);
    warps[w].lanes = 0;
  }
}

TEST_F(BlockRunTest, ABlockThatFollowsAnotherHasAllItsLanes) {
  const KernelDescriptor kernel{.run = &EndLanes, .flags = kEndsLanes};
  const KernelLaunch launch{.descriptor = &kernel, .grid = {3, 1, 1}, .block = {40, 1, 1}};
  g_lanes.clear();
  g_lanes.reserve(8);
  ASSERT_TRUE(run_.Prepare(launch, 0, 0));
  run_.GoOnTo(3);
  EXPECT_EQ(run_.Run(&thread_), LeaveReason::kFinished);
  EXPECT_EQ(run_.index(), 2u);
  EXPECT_EQ(g_lanes, (std::vector<uint32_t>{~0u, 0xff, ~0u, 0xff, ~0u, 0xff}));
}

// Newer code that a kernel finds in its block; what runs notes which code it was and its warp.
struct Anew {
  std::vector<uint32_t> seen;
  std::atomic<const KernelDescriptor*> newest;
  const KernelDescriptor* newer;
} g_anew;

void NoteWarp(uint32_t code, const WarpState& warp) { g_anew.seen.push_back(100 * code + warp.warp); }

void RunNewer(WarpState* warps, uint32_t count) {
  for (uint32_t w = 0; w < count; ++w) NoteWarp(2, warps[w]);
}

// The last warp finds newer code while the others wait to write.
void WaitToWrite(WarpState* warps, uint32_t) {
  const GuestServices& services = *warps->block->services;
  NoteWarp(0, *warps);
  if (warps->warp == 3) {
    g_anew.newest = g_anew.newer;
    services.begin_anew(warps);
  }
  while (warps->block->writes == 0) services.await_writes(warps);
  NoteWarp(1, *warps);
}

class BlockRunAnew : public BlockRunTest {
 protected:
  BlockRunAnew() {
    g_anew.seen.clear();
    g_anew.seen.reserve(64);
    g_anew.newest = &kernel_;
    g_anew.newer = &newer_;
  }
  KernelDescriptor kernel_{.run = &WaitToWrite, .flags = kYields, .stack_bytes = 4096};
  KernelDescriptor newer_{.run = &RunNewer, .stack_bytes = 8192};
  KernelLaunch launch_{.descriptor = &kernel_, .newest = &g_anew.newest, .grid = {3, 1, 1}, .block = {128, 1, 1}};
};

TEST_F(BlockRunAnew, ABlockThatHasNotWrittenBeginsAnewInNewerCodeAndGoesOn) {
  ASSERT_TRUE(run_.Prepare(launch_, 0, 0));
  run_.GoOnTo(2);
  EXPECT_EQ(run_.Run(&thread_), LeaveReason::kFinished);
  EXPECT_EQ(run_.index(), 1u);
  EXPECT_EQ(&run_.descriptor(), &newer_);
  EXPECT_EQ(g_anew.seen, (std::vector<uint32_t>{0, 1, 2, 3, 200, 201, 202, 203, 200, 201, 202, 203}));
}

TEST_F(BlockRunAnew, NoWarpWritesBeforeAllOthersWaitAndTheFirstIsTheFirst) {
  g_anew.newer = &kernel_;
  ASSERT_TRUE(run_.Prepare(launch_, 0, 0));
  EXPECT_EQ(run_.Run(&thread_), LeaveReason::kFinished);
  EXPECT_EQ(g_anew.seen, (std::vector<uint32_t>{0, 1, 2, 3, 100, 101, 102, 103}));
  run_.PrepareNext(1);
  EXPECT_EQ(run_.state().writes, 0u);
  run_.GiveUp();
}

// Which wait at a barrier for those that are to write, or for others' writes.
void WaitForWriters(WarpState* warps, uint32_t) {
  const GuestServices& services = *warps->block->services;
  NoteWarp(0, *warps);
  if (warps->warp < 2) {
    while (warps->block->writes == 0) services.await_writes(warps);
  } else if (warps->warp == 2) {
    while (warps->block->writes == 0) services.yield(warps);
  }
  services.barrier(warps, ~0u, 0, 0, BarrierMode::kArriveAndWait);
  NoteWarp(1, *warps);
}

TEST_F(BlockRunAnew, WarpsThatCanGoNoFurtherAreNotWaitedFor) {
  kernel_.run = &WaitForWriters;
  ASSERT_TRUE(run_.Prepare(launch_, 0, 0));
  EXPECT_EQ(run_.Run(&thread_), LeaveReason::kFinished);
  EXPECT_EQ(g_anew.seen, (std::vector<uint32_t>{0, 1, 2, 3, 100, 101, 102, 103}));
}

TEST_F(BlockRunAnew, ABlockThatHasWrittenDoesNotBeginAnew) {
  kernel_.run = [](WarpState* warps, uint32_t) {
    warps->block->services->await_writes(warps);
    g_anew.newest = g_anew.newer;
    warps->block->services->begin_anew(warps);
    NoteWarp(1, *warps);
  };
  launch_.block[0] = 32;
  ASSERT_TRUE(run_.Prepare(launch_, 0, 0));
  EXPECT_EQ(run_.Run(&thread_), LeaveReason::kFinished);
  EXPECT_EQ(g_anew.seen, (std::vector<uint32_t>{100}));
}

// Newer code has come by the time when a block is to write.
TEST_F(BlockRunAnew, ABlockLooksOnceMoreBeforeItWrites) {
  kernel_.run = [](WarpState* warps, uint32_t) {
    NoteWarp(0, *warps);
    g_anew.newest = g_anew.newer;
    warps->block->services->await_writes(warps);
    NoteWarp(1, *warps);
  };
  launch_.block[0] = 32;
  ASSERT_TRUE(run_.Prepare(launch_, 0, 0));
  EXPECT_EQ(run_.Run(&thread_), LeaveReason::kFinished);
  EXPECT_EQ(g_anew.seen, (std::vector<uint32_t>{0, 200}));
}

// Two warps meet at a barrier until the first has written, which waits to.
TEST_F(BlockRunAnew, WarpsThatMeetAgainAndAgainDoNotKeepOthersFromWritingForEver) {
  static uint64_t meetings;
  static bool written, is_last;
  meetings = 0;
  written = is_last = false;
  kernel_.run = [](WarpState* warps, uint32_t) {
    const GuestServices& services = *warps->block->services;
    if (warps->warp == 0) {
      while (warps->block->writes == 0) services.await_writes(warps);
      written = true;
    } else {
      constexpr uint64_t kMost = 10'000'000;  // for ever
      const auto meet = [&] { services.barrier(warps, ~0u, 1, 64, BarrierMode::kArriveAndWait); };
      do {
        meet();
        if (warps->warp == 1) is_last = written || ++meetings == kMost;
        meet();
      } while (!is_last);
    }
  };
  launch_.block[0] = 96;
  ASSERT_TRUE(run_.Prepare(launch_, 0, 0));
  EXPECT_EQ(run_.Run(&thread_), LeaveReason::kFinished);
  EXPECT_GT(meetings, 10'000u) << "what is long has time to begin anew";
  EXPECT_LT(meetings, 10'000'000u);
}

// As in clusters, where blocks may wait for each other.
TEST_F(BlockRunAnew, WhereNoNewerCodeIsToComeNoWarpWaitsToWrite) {
  launch_.newest = nullptr;
  ASSERT_TRUE(run_.Prepare(launch_, 0, 0));
  EXPECT_EQ(run_.Run(&thread_), LeaveReason::kFinished);
  EXPECT_EQ(g_anew.seen, (std::vector<uint32_t>{0, 100, 1, 101, 2, 102, 3, 103}));
  run_.PrepareNext(1);
  EXPECT_EQ(run_.state().writes, 1u);
  run_.GiveUp();
}

// The floating-point control state, without the status flags.
struct Control {
  uint32_t mxcsr = _mm_getcsr() & ~0x3fu;
  uint16_t x87 = X87();
  bool downwards = (__builtin_ia32_readeflags_u64() & 0x400) != 0;

  static uint16_t X87() {
    uint16_t word;
    asm volatile("fnstcw %0" : "=m"(word));
    return word;
  }
  bool operator==(const Control&) const = default;
};

constexpr Control kPeculiar{.mxcsr = 0x7f80, .x87 = 0xc7f, .downwards = true};
constexpr Control kNewThread{.mxcsr = kNewThreadMxcsr, .x87 = kNewThreadX87Control, .downwards = false};

struct Interlude {
  std::atomic<bool> entered{false}, go{false};
  bool ends_badly = false;
  Control before_the_end;
  float sum = 0;
};

// A block in the middle of an operation that rounds toward zero.
void ComputePeculiarly(const void* argument, uint64_t) {
  auto* const interlude = static_cast<Interlude*>(const_cast<void*>(argument));
  asm volatile("ldmxcsr %0; fldcw %1; std" : : "m"(kPeculiar.mxcsr), "m"(kPeculiar.x87));
  if (interlude->ends_badly) asm volatile("ud2");
  interlude->entered = true;
  while (!interlude->go.load(std::memory_order_relaxed)) {
  }
  interlude->before_the_end = Control();
  asm volatile("ldmxcsr %0; fldcw %1; cld" : : "m"(kNewThread.mxcsr), "m"(kNewThread.x87));
}

// 1 plus three quarters of the distance to the next number, to nearest.
void AddToNearest(const void* argument, uint64_t) {
  volatile float one = 1, little = 0x1.8p-24f;
  static_cast<Interlude*>(const_cast<void*>(argument))->sum = one + little;
}

class InTheMiddle : public BlockRunTest {
 protected:
  void SetUp() override {
    if (!kAsyncLeave) GTEST_SKIP() << "needs blocks to be left at any instruction";
    ASSERT_TRUE(run_.PrepareCall(&ComputePeculiarly, &interlude_, 0));
  }

  // Runs until told to stop in the middle.
  LeaveReason RunAndStop(StopReason reason) {
    std::thread other([&] {
      while (!interlude_.entered) std::this_thread::yield();
      thread_.stop = reason;
      thread_.Interrupt();
    });
    const LeaveReason leave = run_.Run(&thread_);
    left_with_ = Control();
    other.join();
    thread_.stop = StopReason::kNone;
    return leave;
  }

  void ExpectThatOthersComputeAsEver() {
    EXPECT_TRUE(left_with_ == kNewThread) << std::hex << left_with_.mxcsr << ' ' << left_with_.x87;
    BlockRun other;
    ASSERT_TRUE(other.PrepareCall(&AddToNearest, &interlude_, 0));
    EXPECT_EQ(other.Run(&thread_), LeaveReason::kFinished);
    EXPECT_EQ(interlude_.sum, 0x1.000002p0f) << "rounded toward zero it is 1";
  }

  void TearDown() override { asm volatile("ldmxcsr %0; fldcw %1; cld" : : "m"(kNewThread.mxcsr), "m"(kNewThread.x87)); }

  Interlude interlude_;
  Control left_with_{};
};

TEST_F(InTheMiddle, APreemptedBlockKeepsItsRoundingToItself) {
  EXPECT_EQ(RunAndStop(StopReason::kPreempt), LeaveReason::kStopped);
  ExpectThatOthersComputeAsEver();
  interlude_.go = true;
  EXPECT_EQ(run_.Run(&thread_), LeaveReason::kFinished);
  const Control& kept = interlude_.before_the_end;
  EXPECT_TRUE(kept == kPeculiar) << std::hex << kept.mxcsr << ' ' << kept.x87;
}

TEST_F(InTheMiddle, AnAbandonedBlockTakesItsRoundingAlong) {
  EXPECT_EQ(RunAndStop(StopReason::kAbandon), LeaveReason::kStopped);
  ExpectThatOthersComputeAsEver();
  run_.GiveUp();
}

TEST_F(InTheMiddle, AFaultingBlockTakesItsRoundingAlong) {
  interlude_.ends_badly = true;
  EXPECT_EQ(run_.Run(&thread_), LeaveReason::kSignal);
  left_with_ = Control();
  ExpectThatOthersComputeAsEver();
  run_.GiveUp();
}

}  // namespace
}  // namespace tutti::guest
