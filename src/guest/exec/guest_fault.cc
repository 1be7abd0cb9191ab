// Taking a thread out of guest code by signal.
//
// A handler never runs scheduler code and never longjmps. It rewrites the interrupted context and returns: the kernel
// then resumes the thread where the handler wants it, with the right signal mask and with the alternate stack free
// again.
//
// After a fault, or for a block that must be abandoned, that is the worker's own saved context: the guest stack is
// simply dropped. This is sound because guest code holds no locks and owns no memory (guest/cpu/kernel_abi.h). The
// guest's rounding mode is dropped with it (guest_switch.h).
//
// For a block that is only preempted, the thread continues at tutti_guest_preempted on the guest's own stack, which
// looks like a call made by the interrupted instruction: it saves every register, switches to the worker like any
// service, and restores everything when the block is resumed, on whatever worker. The 128 bytes below a leaf function's
// stack pointer (the red zone) survive.
//
// The handlers are installed by the raw system call, since the thread sanitizer would otherwise delay them.
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <csignal>
#include <mutex>

#include "base/check.h"
#include "guest/exec/block_run.h"
#include "guest/exec/guest_switch.h"
#include "guest/exec/guest_thread.h"
#include "guest/exec/sanitizers.h"

namespace tutti::guest {
namespace {

constexpr int kFaultSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
struct sigaction old_actions[64];

void ContinueAsWorker(ucontext_t* context, GuestThread* thread, LeaveReason reason) {
  thread->leave = reason;
  thread->run->code.store(GuestCode::kService, std::memory_order_relaxed);
  context->uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(reinterpret_cast<uint64_t>(thread->own_context));
  context->uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(reinterpret_cast<uint64_t>(&tutti_guest_resume));
  context->uc_mcontext.gregs[REG_EFL] &= ~(0x400 | 0x100);  // direction and trap flags
  context->uc_mcontext.fpregs->mxcsr = kNewThreadMxcsr;
  context->uc_mcontext.fpregs->cwd = kNewThreadX87Control;
}

// A fault in a service that hits the guard below its guest stack is the guest's: it has used up the stack.
TUTTI_NO_SANITIZE bool IsGuestFault(const GuestThread* thread, const siginfo_t* info) {
  if (thread == nullptr || !thread->entered.load(std::memory_order_relaxed)) return false;
  if (thread->run->code.load(std::memory_order_relaxed) == GuestCode::kGuest) return true;
  return thread->run->IsStackGuard(reinterpret_cast<uint64_t>(info->si_addr));
}

TUTTI_NO_SANITIZE void OnFault(int signal, siginfo_t* info, void* raw_context) {
  GuestThread* const thread = CurrentGuestThread();
  if (!IsGuestFault(thread, info)) {
    // Not a guest's fault: restores the previous handler, and lets the instruction fault again.
    const struct sigaction& old = old_actions[signal];
    if ((old.sa_flags & SA_SIGINFO) != 0 && old.sa_sigaction != nullptr) {
      old.sa_sigaction(signal, info, raw_context);
    } else {
      ::signal(signal, SIG_DFL);
    }
    return;
  }
  thread->fault = FaultRecord{};
  thread->fault.signal = signal;
  thread->fault.address = reinterpret_cast<uint64_t>(info->si_addr);
  ContinueAsWorker(static_cast<ucontext_t*>(raw_context), thread, LeaveReason::kSignal);
}

TUTTI_NO_SANITIZE void OnLeave(int, siginfo_t*, void* raw_context) {
  GuestThread* const thread = CurrentGuestThread();
  if (thread == nullptr || !kAsyncLeave) return;
  const StopReason stop = AskedInGuestCode(*thread);
  if (stop == StopReason::kNone) return;
  auto* const context = static_cast<ucontext_t*>(raw_context);
  if (stop != StopReason::kPreempt) {  // it never resumes
    ContinueAsWorker(context, thread, LeaveReason::kStopped);
    return;
  }
  const auto stack_pointer = static_cast<uint64_t>(context->uc_mcontext.gregs[REG_RSP]);
  if (!thread->run->HasStackLeft(stack_pointer, kPreemptBytes)) {
    thread->run->EndRow();
    return;  // asked again at the next tick
  }
  auto* const pushed = reinterpret_cast<uint64_t*>(stack_pointer - 128) - 1;
  *pushed = static_cast<uint64_t>(context->uc_mcontext.gregs[REG_RIP]);
  context->uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(reinterpret_cast<uint64_t>(pushed));
  context->uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(reinterpret_cast<uint64_t>(&tutti_guest_preempted));
  thread->run->code.store(GuestCode::kService, std::memory_order_relaxed);
}

// struct sigaction in the kernel's layout.
struct KernelSigaction {
  void (*handler)(int, siginfo_t*, void*);
  unsigned long flags;
  void (*restorer)();
  unsigned long mask;
};

extern "C" void tutti_signal_return();
__asm__(
    ".text\n"
    ".hidden tutti_signal_return\n"
    ".type tutti_signal_return, @function\n"
    // Unwinders recognise a signal frame by these two instructions.
    "tutti_signal_return:\n"
    "  mov $15, %rax\n"
    "  syscall\n");

void Install(int signal, void (*handler)(int, siginfo_t*, void*)) {
  constexpr unsigned long kRestorer = 0x04000000;
  TUTTI_CHECK(sigaction(signal, nullptr, &old_actions[signal]) == 0);
  // While a fault is handled no preemption signal may divert the thread from the handler: its signal would stay blocked
  // for ever.
  constexpr unsigned long kMask = 1ul << (kLeaveSignal - 1);
  const KernelSigaction action{handler, SA_SIGINFO | SA_ONSTACK | SA_RESTART | kRestorer, &tutti_signal_return, kMask};
  TUTTI_CHECK(syscall(SYS_rt_sigaction, signal, &action, nullptr, 8) == 0);
}

}  // namespace

FaultKind BlockRun::KindOf(const FaultRecord& fault) const {
  switch (fault.signal) {
    case 0:  // deliberate; the number comes from generated code and is checked like everything from there
      return IsFaultKind(fault.kind) ? static_cast<FaultKind>(fault.kind) : FaultKind::kLaunchFailed;
    case SIGSEGV:
    case SIGBUS: return IsStackGuard(fault.address) ? FaultKind::kHardwareStackError : FaultKind::kIllegalAddress;
    case SIGILL: return FaultKind::kIllegalInstruction;
    default: return FaultKind::kLaunchFailed;
  }
}

void InstallGuestFaultHandlers() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const int signal : kFaultSignals) Install(signal, &OnFault);
    Install(kLeaveSignal, &OnLeave);
  });
}

}  // namespace tutti::guest
