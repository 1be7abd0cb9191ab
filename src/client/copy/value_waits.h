// Streams that wait for a value in memory (cuStreamWaitValue32 and its like).
//
// The value may come from anywhere: a kernel, a copy, another stream, or a plain store of the program, which notifies
// nobody. So the client polls: the wait is a host call (client/copy/host_calls.h), which holds its stream and nothing
// else, neither an SM nor a thread of the server, and ends with the client like any other. The thread that takes host
// calls polls the words of all waits, less and less often while nothing happens (PollPace), and soon after this process
// writes a value in a stream or waits for one. The cost is the waiting process's own, in its cgroup; a process that
// waits for nothing pays nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>

#include "client/context/stream.h"
#include "client/copy/value_condition.h"
#include "client/session/attachment.h"

namespace tutti::client {

// Thread-safe.
class ValueWaits {
 public:
  struct Wait {
    ValueCondition condition;
    const Attachment* attachment;
    uint32_t device;  // of its stream; the server's number
    bool abandoned = false;
  };
  // A submitted wait. Valid until Ended returns true.
  using Handle = std::list<Wait>::iterator;

  static ValueWaits& Get();

  // Holds the stream until the condition, which has been checked, holds. OUT_OF_MEMORY if the library's thread cannot
  // be started.
  int Submit(Stream& stream, const ValueCondition& condition);
  // Whether the wait is over: the value is there, or the work of its stream has failed (`status`, or since). If so, it
  // forgets the wait. Host-call thread only.
  bool Ended(Handle wait, int status = 0);
  void Forget(Handle wait);

  // Makes the host-call thread poll soon, if anything waits; otherwise costs one load. Called after a write of a value,
  // and before the program waits for work, since it may have stored what that work waits for.
  static void Hurry() {
    if (looking_.load(std::memory_order_relaxed) > 0) [[unlikely]]
      WakeLooker();
  }
  // Host-call thread only: it polls for `more` values more from now on, or `-more` fewer.
  static void CountLooking(int32_t more) { looking_.fetch_add(more, std::memory_order_relaxed); }
  // Whether Hurry has been called since.
  static bool TakeHurry() { return hurry_.exchange(false, std::memory_order_relaxed); }

 private:
  static void WakeLooker();
  // For Attachment::WindUp: ends the polling for the device.
  void Abandon(uint32_t device);

  inline static constinit std::atomic<int32_t> looking_{0};
  inline static constinit std::atomic<bool> hurry_{false};

  std::mutex mutex_;
  std::list<Wait> waits_;
};

}  // namespace tutti::client
