// A block that is asked to leave its SM, again and again, in every order of steps: guest_code.h with simulated signals,
// SMs as in worker.cc, and requests as in scheduler_stop.cc. As in the product, the block has a stack of its own and
// resumes on whichever SM takes it.
#include <gtest/gtest.h>

#include "base/testing/every_order.h"
#include "guest/exec/guest_code.h"

namespace tutti::guest {
namespace {

using namespace interleavings;

constexpr uint32_t kNoSm = 9;

struct Case {
  uint32_t sms = 1;
  uint32_t requests = 2;
  uint32_t services = 1;  // that the block calls, one after the other
  bool endless = false;  // its own code never ends
  bool other_work = false;  // for an SM that has nothing else to do, once
  StopReason last = StopReason::kPreempt;  // the kind of the last request
  // What this variant leaves out, to show that it is needed.
  bool no_look = false;  // of our own code, when it goes back to the guest's
  bool signal_first = false;  // before the request
  bool left_in_services = false;  // by the handler, too
  bool given_up = false;  // a block that is left without a request of its own
};

class Device;
Device& TheDevice();

// A signal may arrive between any two accesses of a thread to shared memory.
template <typename T>
struct Interruptible : Word<T> {
  using Word<T>::Word;
  T load(std::memory_order = {}) const;
  void store(T value, std::memory_order = {});
};

class Device final : public Threads {
 public:
  struct Run;
  struct Sm {
    Interruptible<StopReason> stop{StopReason::kNone};
    Interruptible<bool> entered{false};
    Device::Run* run = nullptr;
    Word<bool> signalled{false};
    Word<bool> busy{false};  // with the block or other work; under the lock
  };
  struct Run {
    Interruptible<GuestCode> code{GuestCode::kService};
    Word<uint32_t> on{kNoSm};  // SM
    Word<bool> stands{true};  // ready to resume
    Word<bool> left{false};  // its SM goes on
    Word<bool> finished{false};
    Word<bool> over{false};  // it will never resume

    Sm* thread() { return TheDevice().ThreadOfRun(); }
    void LeaveAsAsked() { TheDevice().LeaveBlock(); }
  };

  explicit Device(const Case& plan) : plan_(plan) {
    for (uint32_t i = 0; i < plan.sms; ++i) {
      sms_[i].run = &run_;
      Start("SM", [this, i] { Work(i); }, /*may_wait=*/true);
    }
    Start("block", [this] { Block(); }, /*may_wait=*/true);
    Start("scheduler", [this] { Ask(); });
  }

  // The thread that the block's code from here on holds in a register.
  Sm* ThreadOfRun() {
    Turn();
    return &sms_[run_.on.peek()];
  }

  // OnLeave: on the block's stack.
  void TakeSignal() {
    if (!in_block() || handles_.peek()) return;
    Sm& sm = sms_[run_.on.peek()];
    if (!sm.signalled.peek()) return;
    sm.signalled.Put(false);
    handles_.Put(true);
    const StopReason asked = plan_.left_in_services ? sm.stop.load() : AskedInGuestCode(sm);
    handles_.Put(false);
    if (asked == StopReason::kNone) return;
    if (run_.code.peek() != GuestCode::kGuest) Fail("left in the middle of our own code");
    run_.code.Put(GuestCode::kService);
    LeaveBlock();
    // tutti_guest_preempt
    ToGuestCode(run_);
  }
  bool deaf() const { return plan_.no_look && in_block() && !handles_.peek(); }

  // Switches to the worker, which decides what becomes of the block; returns when it is resumed.
  void LeaveBlock() {
    run_.on.Put(kNoSm);
    run_.left.Put(true);
    Until([this] { return run_.on.peek() != kNoSm; });
  }

 private:
  std::string ProblemAtEnd() override {
    if (run_.over.peek()) return run_.finished.peek() || asked_to_end_.peek() ? "" : "the block is lost";
    if (run_.on.peek() == kNoSm) return "the block is lost";
    return sms_[run_.on.peek()].stop.peek() == StopReason::kNone ? "" : "who was asked to leave stays";
  }

  bool in_block() const { return running() == plan_.sms && run_.on.peek() != kNoSm; }

  // The kernel: its own code, and services in between (ServiceScope).
  void Block() {
    Until([this] { return run_.on.peek() != kNoSm; });
    ToGuestCode(run_);
    for (uint32_t i = 0; i < plan_.services; ++i) {
      ToServiceCode(run_);
      ToGuestCode(run_);
    }
    while (plan_.endless) {
      Until([this] { return sms_[run_.on.peek()].signalled.peek(); });
      TakeSignal();
    }
    ToServiceCode(run_);
    run_.finished.Put(true);
    run_.left.Put(true);
  }

  // Worker::Loop: Scheduler::Begin, BlockRun::Run, Worker::RunBlock, Scheduler::Finish
  void Work(uint32_t self) {
    Sm& sm = sms_[self];
    for (bool other = plan_.other_work;;) {
      Until([&] { return run_.stands.peek() || (other && !run_.over.peek()); });
      const bool takes_block = run_.stands.peek();
      if (!takes_block) other = false;
      sm.busy.Put(true);
      sm.stop.Put(StopReason::kNone);
      if (takes_block) {
        run_.stands.Put(false);
        run_.left.Put(false);
        RunBlock(self);
      } else {
        Turn();
      }
      sm.busy.Put(false);
      if (takes_block) run_.stands.Put(!run_.over.peek());
    }
  }
  void RunBlock(uint32_t self) {
    Sm& sm = sms_[self];
    sm.entered.store(true);
    run_.on.Put(self);
    Until([this] { return run_.left.peek(); });
    sm.entered.store(false);
    if (!run_.finished.peek()) {
      const StopReason asked = sm.stop.load();
      const bool goes_on = plan_.given_up ? asked == StopReason::kPreempt : GoesOnLater(asked);
      run_.over.Put(!goes_on);
    } else {
      run_.over.Put(true);
    }
    Turn();
  }

  // Scheduler::Tick: the request under the lock, the signal without it.
  void Ask() {
    for (uint32_t i = 0; i < plan_.requests; ++i) {
      const uint32_t which = plan_.sms == 1 ? 0 : Choose(plan_.sms);
      Sm& sm = sms_[which];
      const StopReason reason = i + 1 == plan_.requests ? plan_.last : StopReason::kPreempt;
      if (plan_.signal_first) Signal(sm);
      Turn();
      if (!sm.busy.peek()) continue;
      if (reason > StopReason::kPreempt) asked_to_end_.Put(true);
      UnderLock stop{sm.stop};
      AskToStop(stop, reason);
      if (!plan_.signal_first) Signal(sm);
    }
  }
  struct UnderLock {
    Word<StopReason>& word;
    StopReason load(std::memory_order) const { return word.peek(); }
    void store(StopReason reason, std::memory_order) { word.Put(reason); }
  };
  void Signal(Sm& sm) {
    Turn();
    // Elsewhere the handler finds that no guest code runs.
    sm.signalled.Put(sm.entered.peek());
  }

  const Case plan_;
  Run run_;
  Sm sms_[2];
  Word<bool> asked_to_end_{false};
  Word<bool> handles_{false};  // a signal
};

Device& TheDevice() { return static_cast<Device&>(Threads::Current()); }

template <typename T>
T Interruptible<T>::load(std::memory_order) const {
  Threads::Current().Turn();
  TheDevice().TakeSignal();
  if constexpr (std::is_same_v<T, StopReason>) {
    if (TheDevice().deaf()) return StopReason::kNone;
  }
  return this->peek();
}
template <typename T>
void Interruptible<T>::store(T value, std::memory_order) {
  Threads::Current().Turn();
  TheDevice().TakeSignal();
  this->Put(value);
}

using GuestCodeInterleavings = EveryOrderTest;

Outcome Try(const Case& plan) {
  return Explore([&] { return std::make_unique<Device>(plan); });
}

void AllIsWell(const Case& plan) { ExpectNoProblem(Try(plan), 100); }

TEST_F(GuestCodeInterleavings, WhoIsAskedLeavesWhateverItIsDoing) {
  for (const StopReason last : {StopReason::kPreempt, StopReason::kAbandon}) {
    for (const uint32_t services : {0, 2}) {
      AllIsWell({.services = services, .endless = true, .last = last});
      AllIsWell({.sms = 2, .services = services, .endless = true, .last = last});
    }
  }
}

TEST_F(GuestCodeInterleavings, ABlockThatMovesFromSmToSmIsNeverLost) {
  for (const StopReason last : {StopReason::kPreempt, StopReason::kTimeLimit}) {
    AllIsWell({.sms = 2, .requests = 3, .services = 2, .other_work = true, .last = last});
  }
}

TEST_F(GuestCodeInterleavings, WithoutTheLookOnTheWayToTheGuestWhoIsAskedStaysAndIsSeenTo) {
  ExpectProblem(Try({.endless = true, .no_look = true}), "stays");
}

TEST_F(GuestCodeInterleavings, WithTheSignalBeforeTheRequestWhoIsAskedStaysAndIsSeenTo) {
  ExpectProblem(Try({.endless = true, .signal_first = true}), "stays");
}

TEST_F(GuestCodeInterleavings, WithAHandlerThatLeavesServicesTooItIsSeenTo) {
  ExpectProblem(Try({.left_in_services = true}), "our own code");
}

// It looked at the request of the SM that it was on before.
TEST_F(GuestCodeInterleavings, WhereABlockThatIsLeftWithoutARequestIsGivenUpItIsLostAndSeenToBe) {
  ExpectProblem(Try({.sms = 2, .other_work = true, .given_up = true}), "lost");
}

}  // namespace
}  // namespace tutti::guest
