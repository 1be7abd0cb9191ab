// The ticker's own code, and requesters as in the scheduler, in every order of steps and at any time: every requested
// look takes place. No sleep ends by itself unless its time has come.
#include <gtest/gtest.h>

#include "base/testing/every_order.h"
#include "device/cpu/schedule/ticker.h"

namespace tutti::device::cpu {
namespace {

using namespace interleavings;

constexpr uint64_t kEarlyNs = 1'000'000, kLateNs = 2'000'000;

struct Case {
  std::vector<uint64_t> wishes_ns;  // one for each who asks
  bool stops = false;               // the ticker, at any moment
  Memory memory = Memory::kSequential;
  // What this variant leaves out, to show that it is needed.
  bool arm_first = false;  // before there is something to be seen
  bool no_wake = false;
  bool forgetful = false;  // a look does not say when the next one is due
};

class Device;
Device& TheDevice();

template <template <typename> typename AnyWord>
struct MadeUp {
  template <typename T>
  using Atomic = AnyWord<T>;
  struct Thread {
    void join();
  };
  static uint64_t NowNs();
  static void FutexWait(const Atomic<uint32_t>* word, uint32_t expected, uint64_t timeout_ns);
  static void FutexWake(const Atomic<uint32_t>* word);
  static Thread StartThread(std::function<void()> body);
};

class Device : public Threads {
 public:
  explicit Device(const Case& plan) : Threads(plan.memory), plan_(plan) {}

  // Scheduler::Tick, under its lock
  uint64_t Tick(uint64_t now_ns) {
    Turn();
    uint64_t next_ns = kNever;
    for (Word<uint64_t>& wish : wishes_) {
      if (wish.peek() <= now_ns) wish.Put(kNever);
      next_ns = std::min(next_ns, wish.peek());
    }
    return plan_.forgetful ? kNever : next_ns;
  }

  const Case plan_;
  Word<uint64_t> now_ns_{kEarlyNs / 2};
  Word<bool> sleeps_{false};
  Word<bool> ended_{false};

 protected:
  template <typename System>
  void Begin(BasicTicker<System>* ticker) {
    Know(ticker, sizeof *ticker);
    for (size_t i = 0; i < plan_.wishes_ns.size(); ++i) {
      // Scheduler::Submit, then Perform
      Start("somebody", [this, i, ticker] {
        if (plan_.arm_first) ticker->Arm(plan_.wishes_ns[i]);
        Turn();
        wishes_[i].Put(plan_.wishes_ns[i]);
        if (!plan_.arm_first) ticker->Arm(plan_.wishes_ns[i]);
      });
    }
    if (plan_.stops) Start("owner", [ticker] { ticker->Stop(); });
  }

 private:
  std::string ProblemAtEnd() override {
    for (Word<uint64_t>& wish : wishes_) {
      if (!plan_.stops && wish.peek() != kNever) return "a look was asked for, and nobody looks";
    }
    return "";
  }

  Word<uint64_t> wishes_[2] = {kNever, kNever};
};

Device& TheDevice() { return static_cast<Device&>(Threads::Current()); }

// Time advances arbitrarily.
template <template <typename> typename AnyWord>
uint64_t MadeUp<AnyWord>::NowNs() {
  Device& world = TheDevice();
  constexpr uint64_t kTimes[] = {0, kEarlyNs, 2 * kLateNs};
  world.now_ns_.Put(std::max(world.now_ns_.peek(), kTimes[world.Choose(3)]));
  return world.now_ns_.peek();
}
template <template <typename> typename AnyWord>
void MadeUp<AnyWord>::FutexWait(const Atomic<uint32_t>* word, uint32_t expected, uint64_t timeout_ns) {
  if (word->load() != expected) return;
  Device& world = TheDevice();
  world.sleeps_.Put(true);
  const bool woken = world.Until([&world] { return !world.sleeps_.peek(); }, timeout_ns != 0);
  world.sleeps_.Put(false);
  if (!woken) world.now_ns_.Put(world.now_ns_.peek() + timeout_ns);
}
template <template <typename> typename AnyWord>
void MadeUp<AnyWord>::FutexWake(const Atomic<uint32_t>*) {
  if (!TheDevice().plan_.no_wake) TheDevice().sleeps_.store(false);
}
template <template <typename> typename AnyWord>
auto MadeUp<AnyWord>::StartThread(std::function<void()> body) -> Thread {
  const auto run = [body = std::move(body)] {
    body();
    TheDevice().ended_.Put(true);
  };
  TheDevice().Start("ticker", run, /*may_wait=*/!TheDevice().plan_.stops);
  return {};
}
template <template <typename> typename AnyWord>
void MadeUp<AnyWord>::Thread::join() {
  // Not at the end of the test.
  if (TheDevice().running() != ~0u) TheDevice().Until([] { return TheDevice().ended_.peek(); });
}

template <template <typename> typename AnyWord>
class Ticking final : public Device {
 public:
  explicit Ticking(const Case& plan)
      : Device(plan),
        ticker_(std::make_unique<BasicTicker<MadeUp<AnyWord>>>([this](uint64_t now_ns) { return Tick(now_ns); })) {
    Begin(ticker_.get());
  }

 private:
  std::unique_ptr<BasicTicker<MadeUp<AnyWord>>> ticker_;
};

template <template <typename> typename AnyWord = Word>
Outcome Try(const Case& plan) {
  return Explore([&] { return std::make_unique<Ticking<AnyWord>>(plan); });
}

using TickerInterleavings = EveryOrderTest;

void NoLookIsLost(const Case& plan) { ExpectNoProblem(Try(plan), 30); }

constexpr const char* kLost = "nobody looks";

TEST_F(TickerInterleavings, EveryLookThatIsAskedForIsMade) {
  NoLookIsLost({.wishes_ns = {kEarlyNs}});
  NoLookIsLost({.wishes_ns = {kEarlyNs, kLateNs}});
  NoLookIsLost({.wishes_ns = {kLateNs, kLateNs + 1}});  // near enough for one look
  NoLookIsLost({.wishes_ns = {kEarlyNs, kLateNs}, .memory = Memory::kStoreBuffers});
}

TEST_F(TickerInterleavings, ItEndsWheneverItIsToldTo) { NoLookIsLost({.wishes_ns = {kEarlyNs}, .stops = true}); }

TEST_F(TickerInterleavings, WhereItIsAskedForBeforeThereIsSomethingToSeeALookIsLostAndSeenToBe) {
  ExpectProblem(Try({.wishes_ns = {kEarlyNs}, .arm_first = true}), kLost);
}

TEST_F(TickerInterleavings, WithoutTheWakeALookIsLostAndSeenToBe) {
  ExpectProblem(Try({.wishes_ns = {kEarlyNs}, .no_wake = true}), kLost);
}

TEST_F(TickerInterleavings, WhereALookDoesNotAskForTheNextOneItIsLostAndSeenToBe) {
  ExpectProblem(Try({.wishes_ns = {kEarlyNs, kLateNs}, .forgetful = true}), kLost);
}

TEST_F(TickerInterleavings, WhereItForgetsWhatWasAskedForWithAPlainStoreALookIsLostAndSeenToBe) {
  ExpectProblem(Try<LateWord>({.wishes_ns = {kEarlyNs, kLateNs}, .memory = Memory::kStoreBuffers}), kLost);
}

}  // namespace
}  // namespace tutti::device::cpu
