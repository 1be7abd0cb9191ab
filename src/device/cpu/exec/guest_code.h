// How a thread is asked to leave the block that it runs, and how that block notices.
//
// Who asks (the scheduler, under its lock) writes the request and then sends the thread a signal. The signal's handler
// leaves guest code where it finds it, and does nothing in our own code on a guest's stack (services), which may hold
// what must not be forgotten. Our own code therefore looks for a request itself when it goes back to the guest: first
// it says whose code runs, then it looks. So a request is either seen here, or its signal finds the thread in the
// guest.
//
// A block that was left goes on on any thread, and at any instruction: also between two of ToGuestCode, which may then
// look at the request of the thread that it was on before. So a block may be left for a request that was not its own;
// nothing comes of that (GoesOnLater).
//
// All of it is tried in every order of steps, with this very code: guest_code_interleavings_test.cc.
#pragma once

#include <atomic>
#include <cstdint>

#include "device/cpu/exec/sanitizers.h"

namespace tutti::device::cpu {

enum class GuestCode : uint32_t {
  kService,  // ours: not to be interrupted
  kGuest,    // the kernel's: may be left at any instruction
};

enum class StopReason : uint32_t {
  kNone = 0,
  kPreempt = 1,    // give way; the block goes on later
  kTimeLimit = 2,  // the kernel has run longer than it may: it fails
  kAbandon = 3,    // the block will never go on
};

// By who asks, under the lock under which the thread takes new work and forgets requests. The signal comes after it.
template <typename StopWord>
void AskToStop(StopWord& stop, StopReason reason) {
  if (stop.load(std::memory_order_relaxed) < reason) stop.store(reason, std::memory_order_relaxed);
}

// By the handler on that thread: for what reason the guest's code is to be left at once, or kNone. Async-signal-safe.
template <typename Thread>
TUTTI_NO_SANITIZE inline StopReason AskedInGuestCode(const Thread& thread) {
  if (!thread.entered.load(std::memory_order_relaxed)) return StopReason::kNone;
  if (thread.run->code.load(std::memory_order_relaxed) != GuestCode::kGuest) return StopReason::kNone;
  return thread.stop.load(std::memory_order_relaxed);
}

template <typename Run>
TUTTI_NO_SANITIZE inline void ToServiceCode(Run& run) {
  run.code.store(GuestCode::kService, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

// On the guest's stack. run.LeaveAsAsked() leaves the block, and returns when it is resumed.
template <typename Run>
TUTTI_NO_SANITIZE inline void ToGuestCode(Run& run) {
  for (;;) {
    run.code.store(GuestCode::kGuest, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (run.thread()->stop.load(std::memory_order_relaxed) == StopReason::kNone) return;
    ToServiceCode(run);
    run.LeaveAsAsked();
  }
}

// By the worker: whether the block that was left for a request, on a thread that was `asked` this, goes on some time.
constexpr bool GoesOnLater(StopReason asked) { return asked <= StopReason::kPreempt; }

}  // namespace tutti::device::cpu
