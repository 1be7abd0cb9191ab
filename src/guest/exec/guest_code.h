// Preempting a block: how a thread is asked to leave the block that it runs, and how the block notices.
//
// The scheduler, under its lock, writes the request and then sends the thread a signal. The handler leaves guest code
// at once, but does nothing in our own code on a guest's stack (services), which may hold what must not be abandoned.
// So our own code checks for a request when it returns to the guest: first it stores whose code runs, then it loads the
// request. Either it sees the request, or the signal arrives in guest code.
//
// A block that was left may resume on any thread, and at any instruction: also inside of ToGuestCode, between two
// steps, which may then look at the request of the thread that it was on before. So a block may be left for a request
// meant for another; that is harmless, since it is rescheduled (GoesOnLater).
//
// guest_code_interleavings_test.cc runs this very code in every order of steps.
#pragma once

#include <atomic>
#include <cstdint>

#include "guest/exec/sanitizers.h"

namespace tutti::guest {

enum class GuestCode : uint32_t {
  kService,  // ours: not to be preempted
  kGuest,  // the kernel's: may be left at any instruction
};

enum class StopReason : uint32_t {
  kNone = 0,
  kPreempt = 1,  // yield the SM; the block resumes later
  kTimeLimit = 2,  // the kernel has exceeded its time limit: it fails
  kAbandon = 3,  // the block will never resume
};

// By whoever asks, under the lock under which the thread takes new work and clears requests. The signal is sent after.
template <typename StopWord>
void AskToStop(StopWord& stop, StopReason reason) {
  if (stop.load(std::memory_order_relaxed) < reason) stop.store(reason, std::memory_order_relaxed);
}

// By the handler on that thread: the reason to leave guest code at once, or kNone. Async-signal-safe.
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

// By the worker, after a block was left for a request `asked` of its thread: whether the block will resume.
constexpr bool GoesOnLater(StopReason asked) { return asked <= StopReason::kPreempt; }

}  // namespace tutti::guest
