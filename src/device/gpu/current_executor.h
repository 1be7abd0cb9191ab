// The executor that a Space has: none until it has started, and another one after one that was lost or left.
// Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "base/error.h"
#include "device/device.h"
#include "device/gpu/executor_link.h"

namespace tutti::device::gpu {

class CurrentExecutor {
 public:
  // Whoever is given by `sink` closes what executors have sent unasked.
  explicit CurrentExecutor(Sink* sink) : sink_(sink) {}

  struct Reply : ExecutorLink::Reply {
    std::shared_ptr<ExecutorLink> from;
  };
  // Waits for the first one to come, asks it, and waits for the answer. Fails at once, with the reason, if none is to,
  // or while it is replaced.
  Result<Reply> Ask(const executor::Request& request, int file = -1);

  // Does, in one piece, what asks for something and notes what there is then: no executor is replaced meanwhile. Once
  // more, with the next one, where it fails since its executor has ended; and again, where that was left while it was
  // sound. `work` returns a Result. Not on a thread that replaces executors.
  template <typename Work>
  auto WithOne(Work work) {
    for (bool has_ended = false;;) {
      std::shared_lock use(use_);
      const uint64_t before = replacements();
      auto result = work();
      if (result) return result;
      const Next next = NextOne();
      if (next == Next::kNone || (next == Next::kAfterEnd && std::exchange(has_ended, true))) return result;
      use.unlock();
      AwaitReplacement(before);
    }
  }

  // Has it unmap memory, of which nothing is noted any more. One that does not is lost: others may be given the memory
  // next, and these addresses. One that has ended has it unmapped, and the next one is not given it.
  void Unmap(uint64_t address, uint64_t bytes);

  // It is the one that is asked now. (Any other time it may be lost already.)
  bool Is(const ExecutorLink* which);

  // It is being made ready: nobody asks it here yet, and Lose has it killed. One that was expected before is killed.
  // False: none is to come, and it is killed at once.
  bool Expect(std::shared_ptr<ExecutorLink> executor);
  void ExpectNone();
  // The one that was expected has come, and the one before it, if it is there, is left.
  void Arrive();

  // While it is held, no executor is replaced: for what changes what the next one is to have, but does not fail. Not
  // where the thread replaces executors itself meanwhile.
  using Use = std::shared_lock<std::shared_timed_mutex>;
  Use Using() { return Use(use_); }

  // While it is held, nobody is within WithOne. The second may come without it: a driver may take long to answer.
  using Replacement = std::unique_lock<std::shared_timed_mutex>;
  Replacement Replacing() { return Replacement(use_); }
  Replacement ReplacingWithin(std::chrono::nanoseconds patience) { return {use_, patience}; }
  // It has ended, or is left while it is sound, and another one is to come that has what it had. Until then whoever
  // asks fails. The end of what it had; nothing, and nothing is changed, where it has been lost already: others may
  // lose it at any time.
  enum class Was : uint8_t { kOver, kSound };
  std::optional<PlaceEnd> Leave(Was was = Was::kOver);
  // Ends that nobody needs to await any more.
  void ForgetWhatIsOver();
  // There is none, and none is to come. It is killed. The first reason counts.
  void Lose(const Error& why);
  // The same, if `which` is still the one: others have come since.
  void Lose(const ExecutorLink* which, const Error& why);
  // Waits until the places of those that were lost, or expected in vain, have ended, and their driver has freed what
  // they had; not for longer than that, since a process may hang in its driver, and kernels may not end where others
  // have a place. Returns what has not ended, which takes no more clients; also of earlier times, though that is not
  // waited for again.
  std::vector<PlaceEnd> AwaitEnd(int patience_ms);
  // The same for what they have sent and nobody has received. False: a stranger holds that up.
  bool AwaitClosed(int patience_ms);
  // There is none, and one is to come: as in the beginning.
  void Await();

 private:
  Result<std::shared_ptr<ExecutorLink>> Current();
  // Whether another one is to come, and why.
  enum class Next : uint8_t { kNone, kAfterEnd, kInPlaceOfSound };
  Next NextOne();
  uint64_t replacements();
  void AwaitReplacement(uint64_t before);
  void LoseLocked(const Error& why);
  void End(std::shared_ptr<ExecutorLink>* executor);

  // Of executors that are gone. Closing them may outlive this.
  struct Closing {
    std::mutex mutex;
    std::condition_variable closed;
    size_t left = 0;
  };

  Sink* const sink_;
  const std::shared_ptr<Closing> closing_ = std::make_shared<Closing>();
  std::shared_timed_mutex use_;  // taken before all others
  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<ExecutorLink> expected_, executor_;
  std::optional<Error> lost_;
  bool replaced_ = false;  // the last one has ended, or is left, and another one is to come
  Was was_ = Was::kOver;  // that, then
  uint64_t replacements_ = 0;
  std::vector<PlaceEnd> ending_;
  std::vector<PlaceEnd> left_;  // of which the end was awaited in vain
};

}  // namespace tutti::device::gpu
