#include "vendor_fault/escape.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace tutti::gpu {
namespace {

bool Refused(long result) { return result == -1 && errno == EPERM; }

// Each says whether it was refused.
constexpr bool (*kAttempts[])() = {
    [] { return prctl(PR_GET_DUMPABLE) == 0; },
    [] {
      char byte = 0;
      const iovec here{&byte, 1}, there{&byte, 1};
      return Refused(process_vm_readv(getppid(), &here, 1, &there, 1, 0));
    },
    [] { return open(("/proc/" + std::to_string(getppid()) + "/mem").c_str(), O_RDONLY | O_CLOEXEC) < 0; },
    [] { return Refused(ptrace(PTRACE_SEIZE, getppid(), nullptr, nullptr)); },
    [] { return Refused(kill(getppid(), 0)); },
    [] { return Refused(socket(AF_INET, SOCK_STREAM, 0)); },
    [] { return Refused(syscall(SYS_bpf, 0, nullptr, 0)); },
    [] { return Refused(syscall(SYS_userfaultfd, 0)); },
    [] {
      const pid_t child = fork();
      if (child == 0) _exit(0);
      return Refused(child);
    },
    [] {
      char name[] = "/bin/true";
      char* const arguments[] = {name, nullptr};
      char* const environment[] = {nullptr};
      return Refused(execve(name, arguments, environment));
    },
};

}  // namespace

int Escape() {
  int number = 0;
  for (const auto attempt : kAttempts) {
    ++number;
    if (!attempt()) return number;
  }
  return 0;
}

}  // namespace tutti::gpu
