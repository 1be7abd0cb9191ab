#include "guest/exec/guest_thread.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/check.h"
#include "guest/exec/block_run.h"
#include "guest/exec/guest_switch.h"
#include "guest/exec/sanitizers.h"

namespace tutti::guest {
namespace {

constexpr size_t kSignalStackBytes = 64 << 10;  // a signal frame is up to 11 KiB with AMX state

constinit thread_local GuestThread* current = nullptr;

}  // namespace

GuestThread* CurrentGuestThread() { return current; }

void GuestThread::Interrupt() const {
  if (kAsyncLeave) syscall(SYS_tgkill, getpid(), tid, kLeaveSignal);
}

GuestThreadScope::GuestThreadScope(GuestThread* thread) {
  signal_stack_ = mmap(nullptr, kSignalStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (signal_stack_ == MAP_FAILED) EndForLackOf("memory for a signal stack");
  const stack_t stack{.ss_sp = signal_stack_, .ss_flags = 0, .ss_size = kSignalStackBytes};
  TUTTI_CHECK(sigaltstack(&stack, &old_stack_) == 0);
  thread->tid = static_cast<pid_t>(syscall(SYS_gettid));
  thread->own_fiber = SanitizerCurrentFiber();
  current = thread;
}

GuestThreadScope::~GuestThreadScope() {
  current = nullptr;
  sigaltstack(&old_stack_, nullptr);
  munmap(signal_stack_, kSignalStackBytes);
}

// Not instrumented: between notifying the sanitizer and switching, nothing may be recorded on the wrong stack.
TUTTI_NO_SANITIZE void LeaveGuest(GuestThread* thread, LeaveReason reason) {
  thread->leave = reason;
  void** const save = thread->run->context_of_running_fiber();
  TUTTI_SANITIZER_SWITCH(thread->own_fiber);
  tutti_guest_switch(save, thread->own_context);
}

}  // namespace tutti::guest

// The handler has set GuestCode::kService.
extern "C" void tutti_guest_preempt() {
  using namespace tutti::guest;
  GuestThread* const thread = CurrentGuestThread();
  BlockRun* const run = thread->run;
  LeaveGuest(thread, LeaveReason::kStopped);
  run->BackToGuestCode();  // possibly on another thread than before
}
