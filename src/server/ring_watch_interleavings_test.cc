// Every order in which the steps of RingWatch can happen, with the client's half of the doorbell protocol
// (ipc/ring_producer.h) and the device's threads as in device/cpu/worker.cc. No long sleep ends by itself, nor does a
// doze: only the lookout's short pauses do (kMostLingerNs), which are how it works. Who runs blocks never comes back.
#include <gtest/gtest.h>

#include "base/testing/every_order.h"
#include "server/ring_watch_steps.h"

namespace tutti::server {
namespace {

using namespace interleavings;
using wire::Doorbell;

// What an SM's thread does when it has looked at the rings and taken what it found.
enum class Sm {
  kSleeps,      // whenever there is nothing
  kRunsBlocks,  // at once
  kGetsBlocks,  // it sleeps, and is woken to run blocks, or finds blocks to run when a bell has woken it
};

struct Case {
  std::vector<Sm> sms;
  int records = 1;
  bool waits = false;     // the client, for its last record
  bool settled = false;   // the first record comes when everybody is asleep
  bool time_goes = false;  // a ring may have been quiet for long, at any moment
  bool removed = false;  // the ring, at any moment; then there is another one in its place, with a client of its own
  Memory memory = Memory::kSequential;
  // What the protocol needs, and is left out.
  bool no_second_look = false;  // after the bell was armed
  bool bell_late = false;       // what is said at the bell is a plain store
  bool look_first = false;      // the client reads the bell before its record is in the ring
  bool no_kick = false;
  bool no_call = false;  // nobody wakes the lookout
};

class Client;
Client& World();

// Of os/epoll.h what RingWatch uses: edges, which whoever harvests first takes.
struct MadeUpBells {
  static constexpr uint64_t kKick = 4;
  Status Add(int, uint32_t) { return {}; }
  void Remove(int doorbell);
  void Kick();
  int epoll_fd() const { return -1; }
  bool Sleep(uint64_t timeout_ns);
  template <typename Visit>
  void Harvest(Visit visit);
};

// A lock that nobody finds taken.
template <typename T>
struct OpenWord : Word<T> {
  using Word<T>::Word;
  T exchange(T value, std::memory_order = {}) { return Word<T>::exchange(value) && !std::is_same_v<T, bool>; }
  T load(std::memory_order order = std::memory_order_seq_cst) const {
    return std::is_same_v<T, bool> && order == std::memory_order_relaxed ? T{} : Word<T>::load(order);
  }
};

template <template <typename> typename AnyWord>
struct MadeUp {
  template <typename T>
  using Atomic = AnyWord<T>;
  using Bells = MadeUpBells;
  static constexpr uint32_t kCapacity = 1;
  static constexpr uint64_t kLeastLingerNs = 1;
  static constexpr uint64_t kMostLingerNs = 1;
  static constexpr uint32_t kDozesBeforeDeep = 1;

  struct Lookout {
    void join() {}
  };
  static const void*& LookingAt();
  static bool HarvestIsDue() { return false; }
  static uint64_t NowNs();
  static void Yield() { Threads::Current().Turn(); }
  static void FutexWait(const Atomic<uint32_t>* word, uint32_t expected, uint64_t timeout_ns);
  static void FutexWake(const Atomic<uint32_t>* word);
  static Lookout StartLookout(std::function<void()> lookout) {
    Threads::Current().Start("lookout", std::move(lookout), /*may_wait=*/true);
    return {};
  }
};

// A client's ring, bell and records.
class MadeUpRing final : public WatchedRing {
 public:
  explicit MadeUpRing(int number) : number_(number) { Threads::Current().Know(&consumed_, sizeof consumed_); }

  Word<uint64_t> published{0};
  Word<Doorbell> bell{Doorbell::kArmed};
  Word<bool> gone{false};
  bool all_taken() const { return consumed_ == published.peek(); }

  void Added(uint32_t) override {}
  bool Consume() override;
  bool Peek() override;
  void SetBell(Doorbell state) override;
  int doorbell_fd() const override { return number_; }

 private:
  void BeHere() const {
    if (gone.peek()) Threads::Current().Fail("somebody is in a ring that is gone");
  }
  const int number_;
  uint64_t consumed_ = 0;
};

// One client with its ring, perhaps another after it, and the threads of a device.
class Client : public Threads {
 public:
  explicit Client(const Case& plan) : Threads(plan.memory), plan_(plan) {
    Know(looking_at_.data(), sizeof looking_at_);
  }

  template <typename System>
  void Begin(BasicRingWatch<System>* watch) {
    Know(watch, sizeof *watch);
    EXPECT_TRUE(watch->Add(&rings_[0]));
    idle_ = watch->idle_work();
    for (const Sm sm : plan_.sms) Start("SM", [this, sm] { Run(sm); }, /*may_wait=*/true);
    Start("client", [this] { Submit(rings_[0]); });
    if (plan_.removed) {
      Start("server", [this, watch] {
        if (plan_.settled) Until([this] { return settled_.peek(); });
        watch->Remove(0);
        rings_[0].gone.Put(true);
        replaced_.Put(watch->Add(&rings_[1]).has_value());
      });
      Start("next client", [this] {
        Until([this] { return replaced_.peek(); });
        Submit(rings_[1]);
      });
    }
    if (plan_.settled) Settle();
  }

  const Case plan_;
  std::array<const void*, 8> looking_at_{};
  Word<uint64_t> rung_{0};         // bells that nobody has harvested
  Word<bool> edge_{false};         // who sleeps on all bells will be told, once
  Word<bool> lookout_sleeps_{false};
  Word<uint32_t> asleep_{0};  // threads

 private:
  std::string ProblemAtEnd() override {
    return rings_[plan_.removed ? 1 : 0].all_taken() ? "" : "a record lies in the ring, and nobody will look";
  }

  // One way to where all are asleep.
  void Settle() {
    while (asleep_.peek() != (2u << plan_.sms.size()) - 1) {
      uint32_t step = 0;
      for (const uint32_t other : Steps()) {
        if (other % kStepsOfThread == 0 || other < kStepsOfThread) step = other;  // the lookout's pauses end
      }
      Do(step);
    }
    settled_.Put(true);
  }

  // RingProducer::Submit, then CompletionWaiter::Wait
  void Submit(MadeUpRing& ring) {
    if (plan_.settled) Until([this] { return settled_.peek(); });
    for (int record = 1; record <= plan_.records; ++record) {
      const bool waits = plan_.waits && record == plan_.records;
      Doorbell bell = Doorbell::kWatched;
      if (plan_.look_first) bell = ring.bell.load();
      ring.published.store(static_cast<uint64_t>(record));
      if (!plan_.look_first) bell = ring.bell.load();
      if (bell != Doorbell::kWatched && (bell != Doorbell::kLingering || waits)) RingBell(ring);
    }
    if (plan_.waits && ring.bell.load() != Doorbell::kWatched) RingBell(ring);  // Nudge
  }
  void RingBell(MadeUpRing& ring) {
    if (ring.bell.exchange(Doorbell::kWatched) == Doorbell::kWatched) return;
    if (!ring.gone.peek()) Ring(1u << ring.doorbell_fd());
  }

 public:
  template <typename Condition>
  bool Sleep(const Condition& condition, bool may_time_out) {
    const uint32_t self = 1u << running();
    asleep_.Put(asleep_.peek() | self);
    const bool woken = Until(condition, may_time_out);
    asleep_.Put(asleep_.peek() & ~self);
    return woken;
  }
  void Ring(uint64_t bell) {
    rung_.fetch_or(bell);
    edge_.store(true);
  }

 private:
  // Worker::Loop, as far as rings are concerned
  void Run(Sm sm) {
    for (;;) {
      idle_.poll();
      if (sm == Sm::kRunsBlocks) return idle_.leave();
      if (idle_.arm()) continue;
      const bool by_bell = SleepAtTheGate(/*blocks_may_come=*/sm == Sm::kGetsBlocks);
      idle_.woke();
      if (by_bell) {
        do idle_.rang();
        while (rung_.load() != 0);
      }
      if (sm == Sm::kGetsBlocks && (!by_bell || Current().Choose(2) == 1)) return idle_.leave();
    }
  }
  // IdleGate::Sleep: edge-triggered, so one sleeper is told, and only if there still is what it is told of.
  bool SleepAtTheGate(bool blocks_may_come) {
    const auto rings = [this] { return edge_.peek() && rung_.peek() != 0; };
    const bool by_bell = Sleep(rings, blocks_may_come);
    if (by_bell) edge_.Put(false);
    return by_bell;
  }

  device::Backend::IdleWork idle_;
  Word<bool> settled_{false};
  Word<bool> replaced_{false};
  MadeUpRing rings_[2] = {MadeUpRing(0), MadeUpRing(1)};
};

Client& World() { return static_cast<Client&>(Threads::Current()); }

bool MadeUpRing::Consume() {
  const uint64_t now = published.load();
  BeHere();
  return std::exchange(consumed_, now) != now;
}
bool MadeUpRing::Peek() {
  const uint64_t now = published.load();
  BeHere();
  return !World().plan_.no_second_look && now != consumed_;
}
void MadeUpRing::SetBell(Doorbell state) {
  BeHere();
  bell.store(state, World().plan_.bell_late ? std::memory_order_release : std::memory_order_seq_cst);
}

void MadeUpBells::Remove(int doorbell) { World().rung_.fetch_and(~(uint64_t{1} << doorbell)); }
void MadeUpBells::Kick() {
  if (!World().plan_.no_kick) World().Ring(kKick);
}
bool MadeUpBells::Sleep(uint64_t timeout_ns) {
  Client& world = World();
  return world.Sleep([&world] { return world.rung_.peek() != 0; }, timeout_ns < ring_watch::kLongSleepNs);
}
template <typename Visit>
void MadeUpBells::Harvest(Visit visit) {
  if ((World().rung_.exchange(0) & ~kKick) != 0) visit(0);
}

template <template <typename> typename AnyWord>
const void*& MadeUp<AnyWord>::LookingAt() {
  return World().looking_at_[World().running()];
}
template <template <typename> typename AnyWord>
uint64_t MadeUp<AnyWord>::NowNs() {
  if (!World().plan_.time_goes || World().running() > 8) return 0;
  return World().Choose(2) * 2 * ring_watch::kColdAfterNs;
}
template <template <typename> typename AnyWord>
void MadeUp<AnyWord>::FutexWait(const Atomic<uint32_t>* word, uint32_t expected, uint64_t) {
  if (word->load() != expected) return;
  Client& world = World();
  world.lookout_sleeps_.Put(true);
  world.Sleep([&world] { return !world.lookout_sleeps_.peek(); }, false);
}
template <template <typename> typename AnyWord>
void MadeUp<AnyWord>::FutexWake(const Atomic<uint32_t>*) {
  if (!World().plan_.no_call) World().lookout_sleeps_.store(false);
}

template <template <typename> typename AnyWord>
class Watched final : public Client {
 public:
  explicit Watched(const Case& plan)
      : Client(plan), watch_(std::make_unique<BasicRingWatch<MadeUp<AnyWord>>>(MadeUpBells())) {
    Begin(watch_.get());
  }

 private:
  std::unique_ptr<BasicRingWatch<MadeUp<AnyWord>>> watch_;
};

template <template <typename> typename AnyWord = Word>
Outcome Try(const Case& plan) {
  return Explore([&] { return std::make_unique<Watched<AnyWord>>(plan); });
}

using RingWatchInterleavings = EveryOrderTest;

void NothingIsLost(const Case& plan) { ExpectNoProblem(Try(plan), 30); }

constexpr const char* kLost = "nobody will look";

void SomethingIsLost(const Case& plan) { ExpectProblem(Try(plan), kLost); }

TEST_F(RingWatchInterleavings, TheLookoutAloneLeavesNoRecord) {
  for (const bool waits : {false, true}) NothingIsLost({.records = 3, .waits = waits, .memory = Memory::kStoreBuffers});
}

TEST_F(RingWatchInterleavings, AnSmThatGoesToRunBlocksLeavesNoRecord) { NothingIsLost({.sms = {Sm::kRunsBlocks}}); }

TEST_F(RingWatchInterleavings, AnSmThatBeginsToSleepLeavesNoRecord) { NothingIsLost({.sms = {Sm::kSleeps}}); }

TEST_F(RingWatchInterleavings, SmsThatSleepOrAreGivenBlocksLeaveNoRecord) {
  using enum Sm;
  const std::vector<std::vector<Sm>> all = {
      {kSleeps}, {kGetsBlocks}, {kSleeps, kSleeps}, {kSleeps, kGetsBlocks}, {kGetsBlocks, kGetsBlocks}};
  for (const auto& sms : all) {
    NothingIsLost({.sms = sms, .records = sms.size() == 1 ? 3 : 1, .settled = true});
    if (sms.size() == 1) NothingIsLost({.sms = sms, .records = 2, .waits = true, .settled = true});
  }
}

TEST_F(RingWatchInterleavings, ARingThatGoesColdAtAnyMomentLeavesNoRecord) {
  NothingIsLost({.sms = {Sm::kSleeps}, .records = 2, .settled = true, .time_goes = true});
  NothingIsLost({.sms = {Sm::kGetsBlocks}, .records = 2, .settled = true, .time_goes = true});
}

TEST_F(RingWatchInterleavings, NobodyIsInARingThatWasRemovedAndTheNextOneInItsPlaceLosesNoRecord) {
  NothingIsLost({.removed = true});
  NothingIsLost({.sms = {Sm::kSleeps}, .settled = true, .removed = true});
  NothingIsLost({.sms = {Sm::kGetsBlocks}, .settled = true, .removed = true});
}

TEST_F(RingWatchInterleavings, WithoutTheLockSomebodyIsInARingThatIsGoneAndSeenToBe) {
  ExpectProblem(Try<OpenWord>({.removed = true}), "gone");
}

TEST_F(RingWatchInterleavings, WithoutTheSecondLookARecordIsLostAndSeenToBe) {
  SomethingIsLost({.no_second_look = true});
}

TEST_F(RingWatchInterleavings, WithAPlainStoreToTheBellARecordIsLostAndSeenToBe) {
  SomethingIsLost({.memory = Memory::kStoreBuffers, .bell_late = true});
}

TEST_F(RingWatchInterleavings, WithALookAtTheBellBeforeTheRecordIsThereItIsLostAndSeenToBe) {
  SomethingIsLost({.look_first = true});
}

TEST_F(RingWatchInterleavings, WithoutTheKickARecordIsLostAndSeenToBe) {
  SomethingIsLost({.sms = {Sm::kSleeps}, .no_kick = true});
}

TEST_F(RingWatchInterleavings, WithoutTheCallOfTheLookoutARecordIsLostAndSeenToBe) {
  SomethingIsLost({.sms = {Sm::kGetsBlocks}, .settled = true, .no_call = true});
}

TEST_F(RingWatchInterleavings, WithPlainStoresForTheLookoutsWordsARecordIsLostAndSeenToBe) {
  ExpectProblem(Try<LateWord>({.sms = {Sm::kRunsBlocks}, .memory = Memory::kStoreBuffers}), kLost);
}

}  // namespace
}  // namespace tutti::server
