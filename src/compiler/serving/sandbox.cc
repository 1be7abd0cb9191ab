#include "compiler/serving/sandbox.h"

#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>

#include "os/confinement/sanitized.h"

// The filter has three answers. Calls that a compiler needs to work on memory are allowed. Calls that library code
// makes for something optional (a terminal's size, another thread, a temporary file) fail with an ordinary error.
// Opening and examining paths traps to a handler in this process, which knows no path but /proc/self/fd/N. Any other
// call ends the process.
namespace tutti::compiler {
namespace {

constexpr rlim_t kStackBytes = 64 << 20;  // LLVM recurses over expressions

// N of "/proc/self/fd/N".
std::optional<int> DescriptorOf(const char* path) {
  constexpr std::string_view kPrefix = "/proc/self/fd/";
  if (path == nullptr || std::strncmp(path, kPrefix.data(), kPrefix.size()) != 0) return std::nullopt;
  const char* digits = path + kPrefix.size();
  char* end = nullptr;
  const long fd = std::strtol(digits, &end, 10);
  if (end == digits || *end != '\0' || fd < 0 || fd > 1 << 20) return std::nullopt;
  return static_cast<int>(fd);
}

int64_t OpenPath(const char* path) {
  const auto fd = DescriptorOf(path);
  if (!fd) return -ENOENT;
  const int copy = fcntl(*fd, F_DUPFD_CLOEXEC, 3);
  return copy >= 0 ? copy : -errno;
}

int64_t StatPath(const char* path, struct stat* info) {
  const auto fd = DescriptorOf(path);
  if (!fd) return -ENOENT;
  return syscall(SYS_fstat, *fd, info) == 0 ? 0 : -errno;
}

// Async-signal-safe: raised by a system call of this thread itself.
void AnswerTrappedCall(int, siginfo_t* info, void* context) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const int saved_errno = errno;
  int64_t result = -ENOSYS;
  switch (info->si_syscall) {
    case SYS_open: result = OpenPath(reinterpret_cast<const char*>(registers[REG_RDI])); break;
    case SYS_openat: result = OpenPath(reinterpret_cast<const char*>(registers[REG_RSI])); break;
    case SYS_stat:
      result = StatPath(reinterpret_cast<const char*>(registers[REG_RDI]),
                        reinterpret_cast<struct stat*>(registers[REG_RSI]));
      break;
    case SYS_newfstatat: {
      const auto* path = reinterpret_cast<const char*>(registers[REG_RSI]);
      auto* out = reinterpret_cast<struct stat*>(registers[REG_RDX]);
      const bool by_descriptor = (registers[REG_R10] & AT_EMPTY_PATH) != 0 && path != nullptr && *path == '\0';
      result = !by_descriptor                                                       ? StatPath(path, out)
               : syscall(SYS_fstat, static_cast<int>(registers[REG_RDI]), out) == 0 ? 0
                                                                                    : -errno;
      break;
    }
    default: break;
  }
  registers[REG_RAX] = result;
  errno = saved_errno;
}

// clang-format off
constexpr int kAllowed[] = {
    SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(readv), SCMP_SYS(writev), SCMP_SYS(pread64), SCMP_SYS(pwrite64),
    SCMP_SYS(lseek), SCMP_SYS(fstat), SCMP_SYS(close), SCMP_SYS(dup), SCMP_SYS(dup2), SCMP_SYS(dup3),
    SCMP_SYS(ftruncate), SCMP_SYS(memfd_create), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(brk),
    SCMP_SYS(futex), SCMP_SYS(recvmsg), SCMP_SYS(sendmsg), SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(getrandom),
    SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres), SCMP_SYS(gettimeofday), SCMP_SYS(getrusage),
    SCMP_SYS(sched_getaffinity), SCMP_SYS(sched_yield), SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(rt_sigreturn),
    SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(sigaltstack), SCMP_SYS(restart_syscall),
    SCMP_SYS(exit), SCMP_SYS(exit_group),
};
// clang-format on

constexpr int kRefused[] = {
    SCMP_SYS(access), SCMP_SYS(faccessat), SCMP_SYS(faccessat2),      SCMP_SYS(readlink), SCMP_SYS(readlinkat),
    SCMP_SYS(unlink), SCMP_SYS(unlinkat),  SCMP_SYS(rename),          SCMP_SYS(getcwd),   SCMP_SYS(ioctl),
    SCMP_SYS(uname),  SCMP_SYS(sysinfo),   SCMP_SYS(lstat),           SCMP_SYS(clone),    SCMP_SYS(clone3),
    SCMP_SYS(statx),  SCMP_SYS(statfs),    SCMP_SYS(fstatfs),         SCMP_SYS(mkdir),    SCMP_SYS(getdents64),
    SCMP_SYS(socket), SCMP_SYS(connect),   SCMP_SYS(set_robust_list), SCMP_SYS(rseq),     SCMP_SYS(kill),
    SCMP_SYS(tkill),
};

// Commands of fcntl. Not F_SETOWN or F_SETSIG: the kernel would signal other processes in the compiler's name.
constexpr unsigned kAllowedOfFcntl[] = {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_ADD_SEALS, F_GET_SEALS};

constexpr int kTrapped[] = {SCMP_SYS(open), SCMP_SYS(openat), SCMP_SYS(stat), SCMP_SYS(newfstatat)};

Status Filtered(int result, const char* what) {
  if (result == 0) return {};
  errno = -result;
  return FailErrno(what);
}

Status InstallFilter() {
  struct Context {
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
    ~Context() { seccomp_release(filter); }
  } context;
  if (context.filter == nullptr) return Fail("cannot make a system call filter");
  for (const int call : kAllowed)
    TUTTI_TRY(Filtered(seccomp_rule_add(context.filter, SCMP_ACT_ALLOW, call, 0), "system call filter"));
  for (const int call : kRefused)
    TUTTI_TRY(Filtered(seccomp_rule_add(context.filter, SCMP_ACT_ERRNO(EPERM), call, 0), "system call filter"));
  for (const int call : kTrapped)
    TUTTI_TRY(Filtered(seccomp_rule_add(context.filter, SCMP_ACT_TRAP, call, 0), "system call filter"));
  // No executable memory: this process makes code and never runs any.
  for (const int call : {SCMP_SYS(mmap), SCMP_SYS(mprotect)}) {
    TUTTI_TRY(
        Filtered(seccomp_rule_add(context.filter, SCMP_ACT_ALLOW, call, 1, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)),
                 "system call filter"));
  }
  for (const unsigned command : kAllowedOfFcntl) {
    TUTTI_TRY(Filtered(seccomp_rule_add(context.filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
                                        SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, command)),
                       "system call filter"));
  }
  // Signals to itself (abort), and its own limits (LimitRequestTime).
  const auto self = static_cast<scmp_datum_t>(getpid());
  TUTTI_TRY(Filtered(seccomp_rule_add(context.filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, SCMP_A0(SCMP_CMP_EQ, self)),
                     "system call filter"));
  TUTTI_TRY(Filtered(seccomp_rule_add(context.filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1, SCMP_A0(SCMP_CMP_EQ, 0)),
                     "system call filter"));
  return Filtered(seccomp_load(context.filter), "loading the system call filter");
}

Status Limit(__rlimit_resource_t resource, rlim_t soft, rlim_t hard) {
  const rlimit limit = {soft, hard};
  if (setrlimit(resource, &limit) != 0) return FailErrno("setrlimit");
  return {};
}

// `lifeline` is one of the first three, or none.
Status KeepOnly(int socket, int lifeline) {
  const int null = open("/dev/null", O_RDWR);
  if (null < 0) return FailErrno("/dev/null");
  for (const int fd : {0, 1, 2}) {
    if (fd != socket && fd != lifeline && dup2(null, fd) < 0) return FailErrno("dup2");
  }
  if (null > 2) close(null);
  if (socket > 3 && close_range(3, static_cast<unsigned>(socket) - 1, 0) != 0) return FailErrno("close_range");
  if (close_range(static_cast<unsigned>(socket) + 1, ~0u, 0) != 0) return FailErrno("close_range");
  return {};
}

}  // namespace

Status EnterSandbox(int socket, int lifeline, const SandboxLimits& limits) {
  // When memory runs out the OOM killer takes a compiler, not the server.
  std::ofstream("/proc/self/oom_score_adj") << 1000;
  if (os::kSanitized) return {};
  TUTTI_TRY(KeepOnly(socket, lifeline));
  TUTTI_TRY(Limit(RLIMIT_AS, limits.address_space_bytes, limits.address_space_bytes));
  TUTTI_TRY(Limit(RLIMIT_FSIZE, limits.file_bytes, limits.file_bytes));
  TUTTI_TRY(Limit(RLIMIT_CORE, 0, 0));
  TUTTI_TRY(Limit(RLIMIT_STACK, kStackBytes, kStackBytes));
  TUTTI_TRY(Limit(RLIMIT_NOFILE, 64, 64));
  TUTTI_TRY(Limit(RLIMIT_CPU, limits.cpu_seconds, limits.cpu_seconds));
  struct sigaction action{};
  action.sa_sigaction = AnswerTrappedCall;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  if (sigaction(SIGSYS, &action, nullptr) != 0) return FailErrno("sigaction");
  if (prctl(PR_SET_DUMPABLE, 0) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return FailErrno("prctl");
  return InstallFilter();
}

void LimitRequestTime(uint32_t seconds) {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  rlimit limit{};
  getrlimit(RLIMIT_CPU, &limit);
  const auto spent = static_cast<rlim_t>(used.ru_utime.tv_sec + used.ru_stime.tv_sec);
  limit.rlim_cur = std::min<rlim_t>(spent + seconds + 1, limit.rlim_max);
  setrlimit(RLIMIT_CPU, &limit);
}

}  // namespace tutti::compiler
