// Workers that look for work, spin, drowse, and sleep at the gate, and submitters, as in worker.cc and scheduler.cc, in
// every order of steps: submitted work is taken, whoever slept, spun or woke by itself meanwhile. The gate is the real
// one.
#include <gtest/gtest.h>

#include "base/testing/every_order.h"
#include "device/cpu/schedule/idle_gate.h"

namespace tutti::device::cpu {
namespace {

using namespace interleavings;

struct Case {
  uint32_t workers = 2;  // a worker that has taken work never returns
  uint32_t spare = 0;  // so many of them get no work
  bool restricted = false;  // each task is for one worker
  bool spins = false;  // each worker, before it sleeps
  uint32_t drowsers = 0;  // so many of the workers drowse then
  bool ends = false;  // a sleep, by itself, once for each worker
  uint32_t cores = 8;  // of fewer than workers: nobody is woken while so many are awake and one of them will look
  bool leaves = false;  // the first worker steps away, for ever
  bool off_core = false;  // the submitter takes those that drowse for such as have lost their cores
  bool gone = false;  // so has the first worker, for ever, before work comes
  bool quiet = false;  // work comes with the wake of a sleeper, if there is one, and the epoch does not move
  // What this variant leaves out, to show that it is needed.
  bool no_advance = false;  // of the epoch, after a submission
  bool no_wake = false;  // of a sleeper, by who submits
  bool no_chain = false;  // of another one, by who takes work and leaves some
  bool late_epoch = false;  // a worker that has spun or drowsed sleeps on the epoch of then
  bool deaf = false;  // a worker that was woken while it drowsed goes to sleep
  bool early_count = false;  // of sleepers, before the epoch moves
  bool one_wake = false;  // where a task is for one worker, any sleeper is woken
  bool away_counts = false;  // one that is away, as one that will look
  bool no_wake_for_it = false;  // of another one, by who steps away
};

class Device;
Device& World();

// Tells when a sleeper is claimed.
template <typename T>
struct WatchedWord : Word<T> {
  using Word<T>::Word;
  bool compare_exchange_weak(T& expected, T value, std::memory_order order = std::memory_order_seq_cst);
};

// eventfd and epoll: each edge goes to one waiter.
struct MadeUpFiles {
  template <typename T>
  using Atomic = WatchedWord<T>;
  struct Edges {
    bool post = false;
    bool doorbell = false;
  };
  struct Patience {
    void Wait() { Threads::Current().Turn(); }
  };
  void WatchDoorbells(int) {}
  void Post(uint64_t count);
  Edges Wait(uint64_t until_ns);
  uint64_t TakePosts();
  static uint64_t NowNs();
};

constexpr uint64_t kShortNs = 4'000, kLongNs = 1'000'000;  // of those that drowse: not to be noticed by others; to be

class Device final : public Threads {
 public:
  explicit Device(const Case& plan) : plan_(plan) {
    for (uint32_t i = 0; i < plan.workers; ++i) Start("worker", [this, i] { Work(1u << i); }, /*may_wait=*/true);
    Start("submitter", [this] {
      if (plan_.gone) Until([this] { return gone_.peek(); });
      for (uint32_t i = plan_.leaves ? 1 : 0; i < plan_.workers - plan_.spare; ++i)
        plan_.quiet ? WakeWith(1u << i) : Submit(1u << i);
    });
  }

  // In the step in which some worker's token becomes a wake-up.
  void SleeperClaimed() {
    tasks_.Put(tasks_.peek() | comes_.peek());
    comes_.Put(0);
  }

  Word<uint64_t> posts_{0};
  Word<bool> edge_{false};

  uint64_t ClockNs() const { return plan_.off_core && running() == plan_.workers ? kLongNs : 0; }

 private:
  std::string ProblemAtEnd() override { return tasks_.peek() == 0 ? "" : "work waits, and nobody will look"; }

  // Scheduler::Submit, then Perform without its lock
  void Submit(uint32_t task) {
    Until([this] { return !locked_.peek(); });
    tasks_.Put(tasks_.peek() | task);
    const uint32_t sleepers = plan_.early_count ? gate_.sleepers() : 0;
    if (!plan_.no_advance) gate_.Advance();
    if (!plan_.no_wake && !OneWillLook(plan_.early_count ? sleepers : gate_.sleepers())) Wake();
  }
  // The wake-up is all that anybody hears of the task.
  void WakeWith(uint32_t task) {
    comes_.Put(task);
    gate_.WakeOne();
    comes_.Put(0);
  }
  bool OneWillLook(uint32_t sleepers) {
    if (plan_.workers <= plan_.cores || plan_.restricted) return false;
    const uint32_t awake = plan_.workers - sleepers;
    return awake >= plan_.cores && awake > busy_.load() + (plan_.away_counts ? 0 : away_.load());
  }
  void StepAway() {
    Until([this] { return !locked_.peek(); });
    away_.Put(away_.peek() + 1);
    if (tasks_.peek() != 0 && !plan_.no_wake_for_it) Wake();
  }
  void LoseCore() {
    gone_.Put(true);
    Until([] { return false; });
  }
  void Wake() {
    if (plan_.restricted && !plan_.one_wake) {
      gate_.WakeAll();
    } else if (gate_.spinners.load() == 0) {
      gate_.WakeOne();
    }
  }

  // Worker::Loop, Idle and Spin; Scheduler::Take reads the epoch under its lock
  void Work(uint32_t self) {
    if (plan_.leaves && self == 1) return StepAway();
    for (bool ends = plan_.ends;;) {
      Until([this] { return !locked_.peek(); });
      const uint32_t mine = plan_.restricted ? tasks_.peek() & self : tasks_.peek();
      if (mine != 0) {
        tasks_.Put(tasks_.peek() ^ (mine & -mine));
        busy_.Put(busy_.peek() + 1);
        if (tasks_.peek() != 0 && !plan_.no_chain && !OneWillLook(gate_.sleepers())) Wake();
        return;
      }
      locked_.Put(true);
      uint32_t seen = gate_.epoch();
      locked_.Put(false);
      if (plan_.spins) {
        gate_.spinners.fetch_add(1);
        const bool found = gate_.epoch() != seen;
        gate_.spinners.fetch_sub(1);
        if (found) continue;
        if (plan_.late_epoch) seen = gate_.epoch();
      }
      if (self < 1u << plan_.drowsers) {
        const bool woken = gate_.Drowse(seen, !plan_.restricted, [this, looks = 0]() mutable {
          if (plan_.off_core && gate_.HasCore(0, kShortNs)) return true;
          if (plan_.gone && running() == 0) LoseCore();
          return looks++ != 0;
        });
        if (woken && !plan_.deaf) continue;
        if (plan_.late_epoch) seen = gate_.epoch();
      }
      gate_.Sleep(seen, ends ? 1 : kNever, !plan_.restricted);
      ends = false;
    }
  }

  const Case plan_;
  Word<uint32_t> tasks_{0};
  Word<uint32_t> comes_{0};  // the task of a wake that is under way
  Word<uint32_t> busy_{0};
  Word<uint32_t> away_{0};
  Word<bool> locked_{false};
  Word<bool> gone_{false};
  BasicIdleGate<MadeUpFiles> gate_;
};

Device& World() { return static_cast<Device&>(Threads::Current()); }

template <typename T>
bool WatchedWord<T>::compare_exchange_weak(T& expected, T value, std::memory_order order) {
  const bool done = Word<T>::compare_exchange_weak(expected, value, order);
  if (done && value > expected && value - expected > 1) World().SleeperClaimed();
  return done;
}

void MadeUpFiles::Post(uint64_t count) {
  World().posts_.fetch_add(count);
  World().edge_.Put(true);
}
MadeUpFiles::Edges MadeUpFiles::Wait(uint64_t until_ns) {
  Device& world = World();
  const bool by_post = world.Until([&world] { return world.edge_.peek(); }, until_ns != kNever);
  if (by_post) world.edge_.Put(false);
  return {.post = by_post};
}
uint64_t MadeUpFiles::TakePosts() { return World().posts_.exchange(0); }
uint64_t MadeUpFiles::NowNs() { return World().ClockNs(); }

Outcome Try(const Case& plan) {
  return Explore([&] { return std::make_unique<Device>(plan); });
}

using IdleGateInterleavings = EveryOrderTest;

void AllIsTaken(const Case& plan) { ExpectNoProblem(Try(plan), 100); }
void SomethingWaits(const Case& plan) { ExpectProblem(Try(plan), "nobody will look"); }

TEST_F(IdleGateInterleavings, WorkForAnyIsTaken) {
  for (const bool spins : {false, true}) {
    for (const bool ends : {false, true}) AllIsTaken({.spins = spins, .ends = ends});
  }
}

TEST_F(IdleGateInterleavings, WorkIsTakenThoughWorkersDrowse) {
  for (const bool ends : {false, true}) AllIsTaken({.drowsers = 2, .ends = ends});
  AllIsTaken({.restricted = true, .drowsers = 2});
  AllIsTaken({.spins = true, .drowsers = 2});
  AllIsTaken({.drowsers = 2, .cores = 1});
  AllIsTaken({.drowsers = 2, .leaves = true});
  AllIsTaken({.workers = 3, .spare = 1, .drowsers = 2, .cores = 1, .leaves = true});
}

TEST_F(IdleGateInterleavings, WorkIsTakenThoughTwoDrowseAndAThirdSleeps) {
  AllIsTaken({.workers = 3, .spare = 2, .drowsers = 2});
}

TEST_F(IdleGateInterleavings, WorkIsTakenThoughWorkersThatDrowseAreTakenForSuchAsHaveLostTheirCores) {
  for (const uint32_t drowsers : {1, 2}) {
    for (const bool ends : {false, true}) AllIsTaken({.drowsers = drowsers, .ends = ends, .off_core = true});
    AllIsTaken({.drowsers = drowsers, .off_core = true, .quiet = true});
  }
  AllIsTaken({.restricted = true, .drowsers = 2, .off_core = true});
  AllIsTaken({.workers = 3, .spare = 2, .drowsers = 1, .off_core = true});
}

TEST_F(IdleGateInterleavings, WorkIsTakenByAnotherThanTheOneThatHasLostItsCoreAsItDrowsed) {
  for (const bool quiet : {false, true})
    AllIsTaken({.spare = 1, .drowsers = 1, .off_core = true, .gone = true, .quiet = quiet});
  AllIsTaken({.workers = 3, .spare = 1, .drowsers = 1, .off_core = true, .gone = true});
}

TEST_F(IdleGateInterleavings, IfOneIsCalledThatHasLostItsCoreWorkIsLeftAndSeenToBe) {
  SomethingWaits({.spare = 1, .drowsers = 1, .gone = true});
}

TEST_F(IdleGateInterleavings, AWakeOfAWorkerThatSleepsIsHeard) {
  for (const uint32_t drowsers : {0, 1, 2}) {
    for (const bool ends : {false, true}) AllIsTaken({.drowsers = drowsers, .ends = ends, .quiet = true});
  }
}

TEST_F(IdleGateInterleavings, IfOneThatIsWokenWhileItDrowsesSleepsWorkIsLeftAndSeenToBe) {
  SomethingWaits({.drowsers = 2, .quiet = true, .deaf = true});
}

TEST_F(IdleGateInterleavings, WithTheEpochReadAfterItHasDrowsedWorkIsLeftAndSeenToBe) {
  SomethingWaits({.drowsers = 2, .late_epoch = true});
}

TEST_F(IdleGateInterleavings, WorkIsTakenWhereNobodyIsWokenWhileAnotherWillLook) {
  for (const bool ends : {false, true}) AllIsTaken({.ends = ends, .cores = 1});
}

TEST_F(IdleGateInterleavings, WorkIsTakenThoughAWorkerIsAway) {
  for (const uint32_t cores : {1, 2, 8}) {
    AllIsTaken({.ends = true, .cores = cores, .leaves = true});
    AllIsTaken({.workers = 3, .cores = cores, .leaves = true});
  }
}

TEST_F(IdleGateInterleavings, IfOneThatIsAwayCountsWorkIsLeftAndSeenToBe) {
  SomethingWaits({.cores = 1, .leaves = true, .away_counts = true});
}

TEST_F(IdleGateInterleavings, WithoutTheWakeOfWhoStepsAwayWorkIsLeftAndSeenToBe) {
  SomethingWaits({.cores = 1, .leaves = true, .no_wake_for_it = true});
}

TEST_F(IdleGateInterleavings, WithSleepersCountedBeforeTheEpochMovesWorkIsLeftAndSeenToBe) {
  SomethingWaits({.cores = 1, .early_count = true});
}

TEST_F(IdleGateInterleavings, WorkForOneCertainWorkerIsTakenByIt) {
  for (const bool ends : {false, true}) AllIsTaken({.restricted = true, .ends = ends});
}

TEST_F(IdleGateInterleavings, WithoutAMoveOfTheEpochWorkIsLeftAndSeenToBe) { SomethingWaits({.no_advance = true}); }

TEST_F(IdleGateInterleavings, WithoutTheWakeWorkIsLeftAndSeenToBe) { SomethingWaits({.no_wake = true}); }

TEST_F(IdleGateInterleavings, WithoutTheWakeOfWhoLeavesWorkBehindItIsLeftAndSeenToBe) {
  SomethingWaits({.spins = true, .no_chain = true});
}

TEST_F(IdleGateInterleavings, WithTheEpochReadAfterTheSpinWorkIsLeftAndSeenToBe) {
  SomethingWaits({.spins = true, .late_epoch = true});
}

TEST_F(IdleGateInterleavings, WithOneWakeWhereWorkIsForOneCertainWorkerItIsLeftAndSeenToBe) {
  SomethingWaits({.restricted = true, .no_chain = true, .one_wake = true});
}

}  // namespace
}  // namespace tutti::device::cpu
