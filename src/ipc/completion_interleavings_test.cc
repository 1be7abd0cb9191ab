// Sleeping for a completion, in every order of steps: client threads as in completion_waiter.cc, the device's threads
// as in server/channel_sink.cc (Completed, Wake), the word as in wire/channel_layout.h (StreamSleepers). No time
// limit helps: whoever is not woken sleeps for ever.
#include <gtest/gtest.h>

#include "base/testing/every_order.h"

namespace tutti::ipc {
namespace {

using namespace interleavings;

struct Without {
  bool second_look = false;  // of the waiter, at `completed`, after Await
  bool wake_first = false;   // the waiter reads `wake` only when it goes to sleep
};

class Stream final : public Threads {
 public:
  explicit Stream(const Without& without) : without_(without) {
    Start("waits for 0, then for 2", [this] {
      Wait(0);
      Wait(2);
    });
    Start("waits for 1", [this] { Wait(1); });
    Start("completes 0 and 2", [this] {
      Complete(0);
      Complete(2);
    });
    Start("completes 1", [this] { Complete(1); });
  }

 private:
  // CompletionWaiter::Wait
  void Wait(uint64_t ticket) {
    for (;;) {
      uint32_t wake = without_.wake_first ? 0 : wake_.word.load();
      if (completed_.load() > ticket) break;  // done()
      Await(ticket + 1);
      if (!without_.second_look && completed_.load() > ticket) break;
      if (without_.wake_first) wake = wake_.word.load();
      wake_.Wait(wake);
    }
  }

  // StreamSleepers::Await
  void Await(uint64_t wanted) {
    uint64_t least = awaited_.load();
    while ((least == 0 || wanted < least) && !awaited_.compare_exchange_strong(least, wanted)) {
    }
  }

  // ChannelSink::Completed under the Space's lock, in the stream's order, then Wake without it.
  void Complete(uint64_t ticket) {
    Until([this, ticket] { return !locked_.peek() && completed_.peek() == ticket; });
    locked_.store(true);
    completed_.store(ticket + 1);
    const bool sleepers = TakeSleepers(ticket + 1);
    locked_.store(false);
    if (sleepers) wake_.WakeAll();
  }

  // StreamSleepers::TakeSleepers
  bool TakeSleepers(uint64_t now_completed) {
    const uint64_t least = awaited_.load();
    if (least == 0 || now_completed < least) return false;
    awaited_.store(0);
    wake_.word.fetch_add(1);
    return true;
  }

  const Without without_;
  Word<uint64_t> completed_{0}, awaited_{0};
  Word<bool> locked_{false};
  Futex wake_;
};

Outcome Try(const Without& without) {
  return Explore([&] { return std::make_unique<Stream>(without); });
}

using CompletionInterleavings = EveryOrderTest;

TEST_F(CompletionInterleavings, NobodySleepsThroughACompletionInAnyOrderOfSteps) { ExpectNoProblem(Try({}), 30); }

TEST_F(CompletionInterleavings, WithoutTheSecondLookAWakeIsLostAndSeenToBe) {
  ExpectProblem(Try({.second_look = true}), "waits for ever");
}

TEST_F(CompletionInterleavings, WithTheWakeCountReadLateAWakeIsLostAndSeenToBe) {
  ExpectProblem(Try({.wake_first = true}), "waits for ever");
}

}  // namespace
}  // namespace tutti::ipc
