// clone(CLONE_VM | CLONE_VFORK), as posix_spawn does it: the child borrows our memory until it has exec'ed, so nothing
// is copied however large the host process is, and no atfork handler of the host runs. posix_spawn lacks two things: a
// child that ends unnoticed, and closing every descriptor we were not asked to pass on (a host's pipe left open in a
// server would block the reader at its other end for ever).
//
// exec restores a process's SIGCHLD, so an unnoticed child is a grandchild: the intermediate process is cloned without
// an exit signal, never execs, is gone before Spawn returns, and orphans the program to init or a subreaper.
#include "os/spawn.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <vector>

#include "os/memory.h"

// glibc's clone under its other name: the thread sanitizer takes `clone` for a fork, which this is not.
extern "C" int __clone(int (*run)(void*), void* stack, int flags, void* argument, ...);

namespace tutti::os {
namespace {

// Sanitizers assume that a thread has one stack and that its functions return.
#if defined(__clang__)
#define TUTTI_ON_OWN_STACK __attribute__((no_sanitize("address"), disable_sanitizer_instrumentation))
#else
#define TUTTI_ON_OWN_STACK __attribute__((no_sanitize("address"), no_sanitize("thread")))
#endif

constexpr size_t kStackBytes = 64 * 1024;
constexpr size_t kMaskBytes = 8;  // of a set of signals, for the kernel

struct ChildPlan {
  const char* path;
  char** arguments;
  char** environment;
  const std::pair<int, int>* files;
  size_t file_count;
  int highest;
  sigset_t signals;  // the caller's mask
  uint8_t* stack;    // kStackBytes, for the grandchild
  pid_t grandchild = 0;
  int error = 0;  // errno of the child's failure
};

// The kernel's struct sigaction; all zero is the default action.
struct KernelSigaction {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)();
  unsigned long mask;
};

// Runs in the parent's memory: raw system calls only. libc's functions may be intercepted by a sanitizer or a preloaded
// library, which would take the child's descriptors and signal actions for the parent's.
[[noreturn]] TUTTI_ON_OWN_STACK void End(int status) {
  for (;;) syscall(SYS_exit_group, status);
}

TUTTI_ON_OWN_STACK int RunChild(void* argument) {
  auto& plan = *static_cast<ChildPlan*>(argument);
  // First duplicated above all target numbers, so that no dup2 overwrites a source.
  long parked[16];
  for (size_t i = 0; i < plan.file_count; ++i) {
    parked[i] = syscall(SYS_fcntl, plan.files[i].first, F_DUPFD_CLOEXEC, plan.highest + 1);
    if (parked[i] < 0) {
      plan.error = errno;
      End(127);
    }
  }
  for (size_t i = 0; i < plan.file_count; ++i) {
    if (syscall(SYS_dup2, parked[i], plan.files[i].second) < 0) {
      plan.error = errno;
      End(127);
    }
  }
  syscall(SYS_close_range, plan.highest + 1, ~0u, 0);
  for (int signal = 1; signal < NSIG; ++signal) {
    KernelSigaction action{};
    if (syscall(SYS_rt_sigaction, signal, nullptr, &action, kMaskBytes) != 0 || action.handler == SIG_DFL) continue;
    action = {};
    syscall(SYS_rt_sigaction, signal, &action, nullptr, kMaskBytes);
  }
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &plan.signals, nullptr, kMaskBytes);
  syscall(SYS_execve, plan.path, plan.arguments, plan.environment);
  plan.error = errno;
  End(127);
}

TUTTI_ON_OWN_STACK int RunBetween(void* argument) {
  auto& plan = *static_cast<ChildPlan*>(argument);
  plan.grandchild = __clone(RunChild, plan.stack + kStackBytes, CLONE_VM | CLONE_VFORK | SIGCHLD, argument);
  if (plan.grandchild < 0) plan.error = errno;
  End(0);
}

}  // namespace

Result<pid_t> Spawn(const SpawnOptions& options) {
  if (options.files.size() > 16) return Fail("too many files for a new program");
  std::vector<char*> arguments;
  for (const std::string& argument : options.arguments) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  std::vector<char*> environment;
  const auto is_replaced = [&options](std::string_view entry) {
    return std::ranges::any_of(options.environment, [&entry](const std::string& given) {
      const std::string_view name = std::string_view(given).substr(0, given.find('='));
      return entry.starts_with(name) && entry.substr(name.size()).starts_with('=');
    });
  };
  for (char** entry = environ; !options.without_environment && entry != nullptr && *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with("LD_AUDIT=") && !is_replaced(*entry)) environment.push_back(*entry);
  }
  for (const std::string& given : options.environment) {
    if (given.find('=') != given.npos) environment.push_back(const_cast<char*>(given.c_str()));
  }
  environment.push_back(nullptr);
  ChildPlan plan{.path = options.path.c_str(),
                 .arguments = arguments.data(),
                 .environment = environment.data(),
                 .files = options.files.data(),
                 .file_count = options.files.size(),
                 .highest = 2};
  for (const auto& file : options.files) plan.highest = std::max(plan.highest, file.second);

  TUTTI_ASSIGN(Mapping stacks, Mapping::Anonymous(2 * kStackBytes));
  plan.stack = stacks.data() + kStackBytes;
  // Signals stay blocked: a handler of the host that ran in the child would run in the host's memory.
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &plan.signals);
  uint8_t* const top = stacks.data() + kStackBytes;
  const pid_t child = options.unnoticed ? __clone(RunBetween, top, CLONE_VM | CLONE_VFORK, &plan)
                                        : __clone(RunChild, top, CLONE_VM | CLONE_VFORK | SIGCHLD, &plan);
  const int clone_error = errno;
  sigprocmask(SIG_SETMASK, &plan.signals, nullptr);
  if (child < 0) {
    errno = clone_error;
    return FailErrno("starting " + options.path);
  }
  if (options.unnoticed) {
    syscall(SYS_wait4, child, nullptr, __WCLONE, nullptr);
  } else if (plan.error != 0) {
    syscall(SYS_wait4, child, nullptr, 0, nullptr);
  }
  if (plan.error != 0) {
    errno = plan.error;
    return FailErrno("starting " + options.path);
  }
  return options.unnoticed ? plan.grandchild : child;
}

}  // namespace tutti::os
