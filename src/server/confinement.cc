// The seccomp filter is a deny-list. An allow-list would be easier to reason about, but a server runs libc's and
// LLVM-generated code, resolves users by whatever NSS modules the machine has, and runs on kernels newer than this
// list: one missing call would end every client's work. Denied is what turns a compromised process into more than that
// process: new processes and programs, other processes' memory, signals to them, other namespaces and mounts, the
// kernel's own interfaces, and the network. Another process starts compilers and executors (os/spawner.h).
//
// A seccomp filter sees numbers, not paths, so it cannot deny /proc/PID/mem. A Landlock domain does, since a process
// inside may not trace one outside; that needs no rule, and the domain denies little besides.
#include "server/confinement.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "os/fd.h"

namespace tutti::server {
namespace {

constexpr int kForbidden[] = {
    // new processes, new programs
    SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(fork), SCMP_SYS(vfork),
    // other processes
    SCMP_SYS(kill), SCMP_SYS(tkill), SCMP_SYS(rt_sigqueueinfo), SCMP_SYS(rt_tgsigqueueinfo),
    SCMP_SYS(pidfd_send_signal), SCMP_SYS(process_mrelease), SCMP_SYS(shmget), SCMP_SYS(shmat), SCMP_SYS(shmctl),
    SCMP_SYS(msgget), SCMP_SYS(msgsnd), SCMP_SYS(msgrcv), SCMP_SYS(msgctl), SCMP_SYS(semget), SCMP_SYS(semop),
    SCMP_SYS(semtimedop), SCMP_SYS(semctl), SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev),
    SCMP_SYS(process_madvise), SCMP_SYS(kcmp), SCMP_SYS(pidfd_getfd), SCMP_SYS(perf_event_open),
    // namespaces and mounts
    SCMP_SYS(setns), SCMP_SYS(unshare), SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(pivot_root), SCMP_SYS(chroot),
    SCMP_SYS(open_tree), SCMP_SYS(move_mount), SCMP_SYS(fsopen), SCMP_SYS(fsconfig), SCMP_SYS(fsmount),
    SCMP_SYS(fspick), SCMP_SYS(mount_setattr), SCMP_SYS(name_to_handle_at), SCMP_SYS(open_by_handle_at),
    // the kernel
    SCMP_SYS(init_module), SCMP_SYS(finit_module), SCMP_SYS(delete_module), SCMP_SYS(kexec_load),
    SCMP_SYS(kexec_file_load), SCMP_SYS(bpf), SCMP_SYS(userfaultfd), SCMP_SYS(io_uring_setup), SCMP_SYS(io_uring_enter),
    SCMP_SYS(io_uring_register), SCMP_SYS(keyctl), SCMP_SYS(add_key), SCMP_SYS(request_key), SCMP_SYS(fanotify_init),
    SCMP_SYS(lookup_dcookie), SCMP_SYS(syslog), SCMP_SYS(quotactl), SCMP_SYS(acct), SCMP_SYS(swapon), SCMP_SYS(swapoff),
    SCMP_SYS(reboot), SCMP_SYS(sethostname), SCMP_SYS(setdomainname), SCMP_SYS(settimeofday), SCMP_SYS(clock_settime),
    SCMP_SYS(clock_adjtime), SCMP_SYS(adjtimex), SCMP_SYS(iopl), SCMP_SYS(ioperm), SCMP_SYS(modify_ldt),
    SCMP_SYS(personality), SCMP_SYS(vhangup), SCMP_SYS(nfsservctl), SCMP_SYS(mbind), SCMP_SYS(migrate_pages),
    SCMP_SYS(move_pages), SCMP_SYS(set_mempolicy),
    // who it is, and files that others would trust
    SCMP_SYS(setuid), SCMP_SYS(setgid), SCMP_SYS(setreuid), SCMP_SYS(setregid), SCMP_SYS(setresuid),
    SCMP_SYS(setresgid), SCMP_SYS(setgroups), SCMP_SYS(setfsuid), SCMP_SYS(setfsgid), SCMP_SYS(capset), SCMP_SYS(chown),
    SCMP_SYS(fchown), SCMP_SYS(lchown), SCMP_SYS(fchownat), SCMP_SYS(mknod), SCMP_SYS(mknodat), SCMP_SYS(setxattr),
    SCMP_SYS(lsetxattr), SCMP_SYS(fsetxattr)};

// Calls that are denied depending on one argument.
struct Condition {
  int call;
  scmp_arg_cmp argument;
};
// Signals through a descriptor's owner (with TIOCSTI below: input into another's terminal).
constexpr uint64_t kSetOwner = 0x8901, kSetGroup = 0x8902;  // FIOSETOWN, SIOCSPGRP

constexpr uint32_t kRefuse = SCMP_ACT_ERRNO(EPERM);

Status Checked(int result, const char* what) {
  if (result == 0) return {};
  errno = -result;
  return FailErrno(what);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
#else
constexpr bool kSanitized = false;
#endif

bool HasCapability(const __user_cap_data_struct (&data)[2]) {
  return (data[0].permitted | data[0].effective | data[0].inheritable | data[1].permitted | data[1].effective |
          data[1].inheritable) != 0;
}

}  // namespace

std::span<const int> ForbiddenCalls() { return kForbidden; }

Status DropCapabilities() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct data[2] = {};
  if (syscall(SYS_capget, &header, data) != 0) return FailErrno("capget");
  if (!HasCapability(data)) return {};
  // Else root's programs would regain them by exec. Setting it needs a capability itself; without it, NO_NEW_PRIVS
  // holds.
  for (unsigned long capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability) {
    prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  }
  const __user_cap_data_struct none[2] = {};
  if (syscall(SYS_capset, &header, none) != 0) return FailErrno("capset");
  return {};
}

Status EnterDomain() {
  if (kSanitized) return {};
  // As in linux/landlock.h; the installed header may be older than the kernel.
  struct {
    uint64_t handled_files = 1u << 0 | 1u << 6 | 1u << 11;  // LANDLOCK_ACCESS_FS_EXECUTE, _MAKE_CHAR, _MAKE_BLOCK
    uint64_t handled_network = 0;
    uint64_t scoped = 1u << 0 | 1u << 1;  // LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET, _SIGNAL
  } domain;
  constexpr unsigned kAskVersion = 1;
  constexpr size_t kFilesOnly = sizeof domain.handled_files;
  const long version = syscall(SYS_landlock_create_ruleset, nullptr, 0, kAskVersion);
  if (version < 0) return FailErrno("Landlock");
  constexpr long kFirstWithScopes = 6;
  const os::Fd rules(static_cast<int>(
      syscall(SYS_landlock_create_ruleset, &domain, version >= kFirstWithScopes ? sizeof domain : kFilesOnly, 0)));
  if (!rules) return FailErrno("a Landlock domain");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return FailErrno("NO_NEW_PRIVS");
  if (syscall(SYS_landlock_restrict_self, rules.get(), 0) != 0) return FailErrno("entering a Landlock domain");
  return {};
}

Status FilterSystemCalls() {
  if (kSanitized) return {};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return FailErrno("NO_NEW_PRIVS");
  struct Context {
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    ~Context() { seccomp_release(filter); }
  } context;
  if (context.filter == nullptr) return Fail("cannot make a system call filter");
  for (const int call : kForbidden) {
    // A system call that this architecture lacks needs no rule.
    const int added = seccomp_rule_add(context.filter, kRefuse, call, 0);
    if (added != 0 && added != -EDOM && added != -EINVAL) TUTTI_TRY(Checked(added, "system call filter"));
  }
  const auto self = static_cast<scmp_datum_t>(getpid());
  const Condition conditions[] = {
      // Unix sockets only: NSS modules may need one to resolve users.
      {SCMP_SYS(socket), SCMP_A0(SCMP_CMP_NE, AF_UNIX)},
      // Allows threads, denies processes.
      {SCMP_SYS(clone), SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0)},
      // Signals to its own threads (preemption, abort), its own limits.
      {SCMP_SYS(tgkill), SCMP_A0(SCMP_CMP_NE, self)},
      {SCMP_SYS(prlimit64), SCMP_A0(SCMP_CMP_NE, 0)},
      {SCMP_SYS(fcntl), SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, F_SETOWN)},
      {SCMP_SYS(fcntl), SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, F_SETOWN_EX)},
      {SCMP_SYS(fcntl), SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, F_SETSIG)},
      {SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, kSetOwner)},
      {SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, kSetGroup)},
      {SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, TIOCSTI)},
      {SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, TIOCLINUX)},
  };
  for (const Condition& condition : conditions) {
    TUTTI_TRY(Checked(seccomp_rule_add(context.filter, kRefuse, condition.call, 1, condition.argument),
                      "system call filter"));
  }
  // clone3's flags are in memory, where a filter cannot look; on ENOSYS libc falls back to clone.
  TUTTI_TRY(
      Checked(seccomp_rule_add(context.filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0), "system call filter"));
  // In all threads.
  TUTTI_TRY(Checked(seccomp_attr_set(context.filter, SCMP_FLTATR_CTL_TSYNC, 1), "system call filter"));
  return Checked(seccomp_load(context.filter), "loading the system call filter");
}

}  // namespace tutti::server
