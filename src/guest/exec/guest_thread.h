// A thread that runs guest code, and how it leaves the guest again.
//
// The worker thread enters guest code on a guest stack, and gets back, on its own stack, the reason why the guest was
// left. The services called by guest code (guest_services.cc) leave deliberately. Signal handlers (guest_fault.cc)
// leave on faults, and on demand, when another thread has set `stop` and sent kLeaveSignal.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>

#include "guest/exec/guest_code.h"

namespace tutti::guest {

class BlockRun;

// Ignored by default, so a stray one is harmless.
inline constexpr int kLeaveSignal = SIGURG;

// Why the guest was left.
enum class LeaveReason : uint32_t {
  kFinished,     // all warps of the block have ended
  kFault,        // GuestThread::fault says what
  kSignal,       // a fault taken by signal: GuestThread::fault.signal and address
  kStopped,      // because of `stop`
  kYielded,  // no warp of the block is runnable
  kGridBarrier,  // all warps of the block wait at the grid's barrier
  kRequest,      // a service that the worker performs: BlockRun::request
  kClusterBarrier,  // no warp of the block can go on before others of its cluster: seen by ClusterRun only
  kNewerCode,  // it has better code, and can begin anew in that: seen by BlockRun only
};

struct FaultRecord {
  uint32_t kind = 0;  // FaultKind
  int signal = 0;     // or the signal that was taken
  uint32_t warp = ~0u;
  uint32_t lane = 0;
  uint32_t location = ~0u;
  uint64_t address = 0;
  uint32_t lanes = 0;     // that are part of the reason
  const char* text = "";  // static
  bool has_value = false;  // what the text is about
  uint64_t value = 0;
};

struct GuestThread {
  // Written by this thread, read by its own signal handlers only.
  std::atomic<bool> entered{
      false};  // it is on a guest stack, or about to be; BlockRun::code says whose code runs there
  BlockRun* run = nullptr;
  void* own_context = nullptr;  // of the worker, while guest code runs
  void* own_fiber = nullptr;  // the sanitizer's handle of the worker's stack
  LeaveReason leave = LeaveReason::kFinished;
  FaultRecord fault;

  // Set by other threads, cleared when this one takes new work, both under the scheduler's lock.
  std::atomic<StopReason> stop{StopReason::kNone};
  bool WasToldTo(StopReason reason) const { return stop.load(std::memory_order_relaxed) == reason; }
  pid_t tid = 0;

  // Makes this thread check `stop` soon, wherever it is. Thread-safe.
  void Interrupt() const;
};

// While it lives, the calling thread can take guest faults, on an alternate signal stack.
class GuestThreadScope {
 public:
  explicit GuestThreadScope(GuestThread* thread);
  ~GuestThreadScope();
  GuestThreadScope(const GuestThreadScope&) = delete;

 private:
  void* signal_stack_;
  stack_t old_stack_;
};

// The calling thread's; null on threads that run no guest code. Async-signal-safe.
GuestThread* CurrentGuestThread();

// Leaves the guest, from our code on a guest stack; returns when the block is resumed.
void LeaveGuest(GuestThread* thread, LeaveReason reason);

// Installs the process's handlers of SIGSEGV, SIGBUS, SIGFPE, SIGILL and kLeaveSignal, once. Faults outside guest code
// go to the previous handlers.
void InstallGuestFaultHandlers();

}  // namespace tutti::guest
