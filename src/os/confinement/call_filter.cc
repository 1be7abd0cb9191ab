#include "os/confinement/call_filter.h"

#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "os/confinement/sanitized.h"

namespace tutti::os {
namespace {

constexpr int kReachOut[] = {
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
    SCMP_SYS(personality), SCMP_SYS(vhangup), SCMP_SYS(nfsservctl),
    // who it is, and files that others would trust
    SCMP_SYS(setuid), SCMP_SYS(setgid), SCMP_SYS(setreuid), SCMP_SYS(setregid), SCMP_SYS(setresuid),
    SCMP_SYS(setresgid), SCMP_SYS(setgroups), SCMP_SYS(setfsuid), SCMP_SYS(setfsgid), SCMP_SYS(capset), SCMP_SYS(chown),
    SCMP_SYS(fchown), SCMP_SYS(lchown), SCMP_SYS(fchownat), SCMP_SYS(mknod), SCMP_SYS(mknodat), SCMP_SYS(setxattr),
    SCMP_SYS(lsetxattr), SCMP_SYS(fsetxattr)};

// Signals through a descriptor's owner (with TIOCSTI below: input into another's terminal).
constexpr uint64_t kSetOwner = 0x8901, kSetGroup = 0x8902;  // FIOSETOWN, SIOCSPGRP

constexpr uint64_t kHalf = UINT32_MAX;
constexpr RefusedCall kByArgument[] = {
    // Unix sockets only: NSS modules may need one to resolve users.
    RefuseUnless(SCMP_SYS(socket), 0, AF_UNIX),
    // Allows threads, denies processes.
    RefuseWhere(SCMP_SYS(clone), 0, CLONE_THREAD, 0),
    // Its own limits.
    RefuseUnless(SCMP_SYS(prlimit64), 0, 0),
    RefuseWhere(SCMP_SYS(fcntl), 1, kHalf, F_SETOWN),
    RefuseWhere(SCMP_SYS(fcntl), 1, kHalf, F_SETOWN_EX),
    RefuseWhere(SCMP_SYS(fcntl), 1, kHalf, F_SETSIG),
    RefuseWhere(SCMP_SYS(ioctl), 1, kHalf, kSetOwner),
    RefuseWhere(SCMP_SYS(ioctl), 1, kHalf, kSetGroup),
    RefuseWhere(SCMP_SYS(ioctl), 1, kHalf, TIOCSTI),
    RefuseWhere(SCMP_SYS(ioctl), 1, kHalf, TIOCLINUX),
};

constexpr uint32_t kRefuse = SCMP_ACT_ERRNO(EPERM);

Status Checked(int result, const char* what) {
  if (result == 0) return {};
  errno = -result;
  return FailErrno(what);
}

Status Refuse(scmp_filter_ctx filter, std::span<const int> calls) {
  for (const int call : calls) {
    // A system call that this architecture lacks needs no rule.
    const int added = seccomp_rule_add(filter, kRefuse, call, 0);
    if (added != 0 && added != -EDOM && added != -EINVAL) TUTTI_TRY(Checked(added, "system call filter"));
  }
  return {};
}

Status Refuse(scmp_filter_ctx filter, std::span<const RefusedCall> calls) {
  for (const RefusedCall& call : calls) {
    const scmp_arg_cmp compared = call.equal ? SCMP_CMP(call.argument, SCMP_CMP_MASKED_EQ, call.mask, call.value)
                                             : SCMP_CMP(call.argument, SCMP_CMP_NE, call.value, 0);
    const scmp_arg_cmp both[] = {compared,
                                 SCMP_CMP(call.also_argument, SCMP_CMP_MASKED_EQ, call.also_mask, call.also_mask)};
    TUTTI_TRY(Checked(seccomp_rule_add_array(filter, kRefuse, call.number, call.also_mask != 0 ? 2 : 1, both),
                      "system call filter"));
  }
  return {};
}

}  // namespace

std::span<const int> CallsThatReachOut() { return kReachOut; }

Status FilterCalls(std::span<const int> more, std::span<const RefusedCall> more_by_argument) {
  if (kSanitized) return {};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return FailErrno("NO_NEW_PRIVS");
  struct Context {
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    ~Context() { seccomp_release(filter); }
  } context;
  if (context.filter == nullptr) return Fail("cannot make a system call filter");
  TUTTI_TRY(Refuse(context.filter, kReachOut));
  TUTTI_TRY(Refuse(context.filter, more));
  TUTTI_TRY(Refuse(context.filter, kByArgument));
  TUTTI_TRY(Refuse(context.filter, more_by_argument));
  // Signals to its own threads (preemption, abort).
  const RefusedCall to_others = RefuseUnless(SCMP_SYS(tgkill), 0, static_cast<uint64_t>(getpid()));
  TUTTI_TRY(Refuse(context.filter, {&to_others, 1}));
  // clone3's flags are in memory, where a filter cannot look; on ENOSYS libc falls back to clone.
  TUTTI_TRY(
      Checked(seccomp_rule_add(context.filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0), "system call filter"));
  // In all threads.
  TUTTI_TRY(Checked(seccomp_attr_set(context.filter, SCMP_FLTATR_CTL_TSYNC, 1), "system call filter"));
  return Checked(seccomp_load(context.filter), "loading the system call filter");
}

}  // namespace tutti::os
