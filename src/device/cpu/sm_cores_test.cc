#include "device/cpu/sm_cores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <utility>

namespace tutti::device::cpu {
namespace {

// Threads 100, 101, ... on cores, none of which they choose; thread 0 is `running`.
struct SimulatedCores {
  static inline std::map<pid_t, int> core_of;
  static inline pid_t running = 0;
  static inline int cores = 0;
  static inline int moves = 0;
  static inline uint64_t now_ns = 0;
  static inline std::function<void()> while_moving;

  static int Core() { return core_of.at(running); }
  static bool Move(pid_t thread, const std::vector<int>& taken) {
    const pid_t moved = thread == 0 ? running : thread;
    for (int core = 0; core < cores; ++core) {
      if (std::find(taken.begin(), taken.end(), core) != taken.end()) continue;
      ++moves;
      core_of[moved] = core;
      if (while_moving) std::exchange(while_moving, nullptr)();
      return true;
    }
    return false;
  }
  static uint64_t NowNs() { return now_ns; }
};

class SmCoresTest : public testing::Test {
 protected:
  using Cores = BasicSmCores<SimulatedCores>;
  static constexpr uint64_t kMs = 1'000'000;

  void Start(uint32_t sms, int cores, uint32_t devices = 1) {
    SimulatedCores::core_of.clear();
    SimulatedCores::cores = cores;
    SimulatedCores::moves = 0;
    SimulatedCores::now_ns = 1000 * kMs;
    SimulatedCores::while_moving = nullptr;
    cores_ = std::make_unique<Cores>(sms, sms / devices, cores);
    for (uint32_t sm = 0; sm < sms; ++sm) cores_->Begins(sm, Thread(sm));
  }
  static pid_t Thread(uint32_t sm) { return static_cast<pid_t>(100 + sm); }
  // The system puts it there, and it runs.
  void RunOn(uint32_t sm, int core) {
    SimulatedCores::core_of[Thread(sm)] = core;
    Run(sm);
  }
  void Run(uint32_t sm) {
    As(sm, [&] { cores_->Runs(sm); });
  }
  template <typename Do>
  static void As(uint32_t sm, Do what) {
    const pid_t before = std::exchange(SimulatedCores::running, Thread(sm));
    what();
    SimulatedCores::running = before;
  }
  static int CoreOf(uint32_t sm) { return SimulatedCores::core_of.at(Thread(sm)); }

  std::unique_ptr<Cores> cores_;
};

TEST_F(SmCoresTest, OneThatFindsAnotherOnItsCoreMovesToOneThatNoneHas) {
  Start(3, 4);
  RunOn(0, 0);
  RunOn(1, 2);
  RunOn(2, 0);
  EXPECT_EQ(CoreOf(0), 0);
  EXPECT_EQ(CoreOf(1), 2);
  EXPECT_EQ(CoreOf(2), 1) << "the first that is free";
}

TEST_F(SmCoresTest, OneThatFindsAnotherOnItsCoreMayGoBackToWhereItWas) {
  Start(2, 2);
  RunOn(0, 0);
  RunOn(1, 1);
  RunOn(1, 0);
  EXPECT_EQ(CoreOf(1), 1);
}

TEST_F(SmCoresTest, WhereEachHasACoreNobodyMoves) {
  Start(2, 2);
  for (int i = 0; i < 5; ++i) {
    RunOn(0, 0);
    RunOn(1, 1);
  }
  EXPECT_EQ(SimulatedCores::moves, 0);
}

TEST_F(SmCoresTest, ACoreWhoseSmSleepsIsFree) {
  Start(2, 2);
  RunOn(0, 0);
  As(0, [&] { cores_->Sleeps(0); });
  RunOn(1, 0);
  EXPECT_EQ(SimulatedCores::moves, 0);
  EXPECT_EQ(CoreOf(1), 0);
  RunOn(0, 0);
  EXPECT_EQ(CoreOf(0), 1) << "it wakes up beside one that runs";
}

// All are where another one is, and none can go anywhere.
struct CountedMoves {
  static inline std::atomic<int> moving{0}, most{0}, count{0};

  static int Core() { return 0; }
  static bool Move(pid_t, const std::vector<int>&) {
    const int now = ++moving;
    if (now > most) most = now;
    std::this_thread::yield();
    --moving;
    ++count;
    return true;
  }
  static uint64_t NowNs() { return tutti::NowNs(); }
};

// A thread's move narrows what it may use for a moment: its own, meanwhile, would make that last.
TEST(SmCoresThreads, MovesFollowEachOther) {
  BasicSmCores<CountedMoves> cores(3, 3, 3);
  cores.Begins(2, 1);
  cores.Sleeps(2);  // and is woken again and again
  std::vector<std::thread> threads;
  for (uint32_t sm = 0; sm < 2; ++sm) {
    threads.emplace_back([&cores, sm] {
      while (CountedMoves::count < 20'000) cores.HasWoken(sm);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(CountedMoves::most, 1);
}

// Thread 0 is on core 0; thread 1 on core 1, whenever it runs.
struct OwnCores {
  static inline thread_local int core = 0;
  static inline std::atomic<int> count{0}, driven_off{0};

  static int Core() { return core; }
  static bool Move(pid_t thread, const std::vector<int>& taken) {
    ++count;
    if (thread == 1 && std::ranges::find(taken, 1) != taken.end()) ++driven_off;
    return true;
  }
  static uint64_t NowNs() { return tutti::NowNs(); }
};

TEST(SmCoresThreads, OneThatHasBeenWokenAndRunsIsNotDrivenOffItsCore) {
  BasicSmCores<OwnCores> cores(2, 2, 2);
  cores.Begins(1, 1);
  std::atomic<bool> ends{false};
  std::thread woken([&] {
    OwnCores::core = 1;
    while (!ends) {
      cores.Sleeps(1);
      cores.Runs(1);
    }
  });
  while (OwnCores::count < 20'000) cores.HasWoken(0);
  ends = true;
  woken.join();
  EXPECT_EQ(OwnCores::driven_off, 0);
}

// Its core goes to the other one while it is on its way: that must not leave it as well.
TEST_F(SmCoresTest, OnlyOneOfTwoMoves) {
  Start(2, 2);
  RunOn(0, 0);
  SimulatedCores::while_moving = [&] { Run(0); };
  RunOn(1, 0);
  EXPECT_EQ(SimulatedCores::moves, 1);
  EXPECT_EQ(CoreOf(0), 0);
  EXPECT_EQ(CoreOf(1), 1);
}

TEST_F(SmCoresTest, OneThatIsMovedBackMovesMoreAndMoreSeldom) {
  Start(2, 2);
  RunOn(0, 0);
  for (int i = 0; i < 10'000; ++i) {  // one second
    RunOn(0, 0);
    RunOn(1, 0);
    SimulatedCores::now_ns += kMs / 10;
  }
  EXPECT_GT(SimulatedCores::moves, 20) << "it never gives up";
  EXPECT_LT(SimulatedCores::moves, 120) << "of both";
  const int before = SimulatedCores::moves;
  for (int i = 0; i < 2; ++i) {
    SimulatedCores::now_ns += i == 0 ? 1000 * kMs : kMs / 2;
    RunOn(0, 0);
    RunOn(1, 0);
  }
  EXPECT_EQ(SimulatedCores::moves - before, 2) << "what was a second ago is forgotten";
}

TEST_F(SmCoresTest, OneThatHasSleptMovesAtOnceHoweverOften) {
  Start(2, 2);
  RunOn(0, 0);
  for (int i = 1; i <= 100; ++i) {
    RunOn(1, 0);
    EXPECT_EQ(SimulatedCores::moves, i);
    As(1, [&] { cores_->Sleeps(1); });
    SimulatedCores::now_ns += kMs / 10;
  }
}

TEST_F(SmCoresTest, OneThatHasBeenWokenIsMovedOffTheWakersCoreBeforeItRuns) {
  Start(3, 3);
  for (uint32_t sm = 0; sm < 3; ++sm) RunOn(sm, static_cast<int>(sm));
  As(1, [&] { cores_->Sleeps(1); });
  As(2, [&] { cores_->Sleeps(2); });
  SimulatedCores::core_of[Thread(2)] = 0;  // where the system puts the one that went to sleep last
  As(0, [&] { cores_->HasWoken(0); });
  EXPECT_EQ(CoreOf(2), 1);
  Run(2);
  SimulatedCores::core_of[Thread(1)] = 1;
  As(2, [&] { cores_->HasWoken(2); });
  EXPECT_EQ(CoreOf(1), 2) << "two have a core: the third is left";
}

TEST_F(SmCoresTest, OneOfAnotherDeviceThatSleepsIsNotTheOneThatHasBeenWoken) {
  Start(4, 4, 2);
  for (uint32_t sm = 0; sm < 4; ++sm) RunOn(sm, static_cast<int>(sm));
  for (const uint32_t sm : {1, 2, 3}) As(sm, [&] { cores_->Sleeps(sm); });
  SimulatedCores::core_of[Thread(1)] = 0;
  As(0, [&] { cores_->HasWoken(0); });
  EXPECT_EQ(CoreOf(1), 1);
  EXPECT_EQ(SimulatedCores::moves, 1);
  Run(1);
  SimulatedCores::core_of[Thread(3)] = 2;
  RunOn(2, 2);
  As(2, [&] { cores_->HasWoken(2); });
  EXPECT_EQ(CoreOf(3), 3);
}

TEST_F(SmCoresTest, AWakerKnowsWhereItIsItself) {
  Start(2, 3);
  RunOn(0, 0);
  RunOn(1, 1);
  As(1, [&] { cores_->Sleeps(1); });
  SimulatedCores::core_of[Thread(0)] = 2;  // since its last look
  SimulatedCores::core_of[Thread(1)] = 2;
  As(0, [&] { cores_->HasWoken(0); });
  EXPECT_EQ(CoreOf(0), 2);
  EXPECT_EQ(CoreOf(1), 0) << "the first that is free now";
}

TEST_F(SmCoresTest, WhereAllAreAwakeNobodyIsMovedForAWakeUp) {
  Start(2, 2);
  RunOn(0, 0);
  RunOn(1, 1);
  As(0, [&] { cores_->HasWoken(0); });
  EXPECT_EQ(SimulatedCores::moves, 0);
}

TEST_F(SmCoresTest, MoreSmsThanCoresShareThem) {
  Start(3, 2);
  for (uint32_t sm = 0; sm < 3; ++sm) RunOn(sm, 0);
  As(1, [&] { cores_->Sleeps(1); });
  As(0, [&] { cores_->HasWoken(0); });
  EXPECT_EQ(SimulatedCores::moves, 0);
}

TEST_F(SmCoresTest, OneThatMayUseNoOtherCoreStays) {
  Start(2, 2);
  SimulatedCores::cores = 1;  // what the system lets it use
  RunOn(0, 0);
  for (int i = 0; i < 3; ++i) {
    RunOn(1, 0);
    RunOn(0, 0);
    SimulatedCores::now_ns += 100 * kMs;
  }
  EXPECT_EQ(SimulatedCores::moves, 0);
  EXPECT_EQ(CoreOf(1), 0);
}

}  // namespace
}  // namespace tutti::device::cpu
