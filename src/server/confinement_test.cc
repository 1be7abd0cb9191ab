// Each claim is tried in a child that has confined itself; the child's exit status is the answer.
#include "server/confinement.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "server/testing/server_process.h"

namespace tutti::server {
namespace {

bool Sanitized() { return std::getenv("ASAN_OPTIONS") != nullptr || std::getenv("TSAN_OPTIONS") != nullptr; }

template <typename Body>
bool HoldsInside(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    if (!DropCapabilities() || !EnterDomain() || !FilterSystemCalls()) _exit(77);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
bool Refused(long result) { return result == -1 && errno == EPERM; }

TEST(Confinement, ForbidsWhatReachesBeyondTheProcess) {
  if (Sanitized()) GTEST_SKIP() << "no filter in a build with a sanitizer";
  EXPECT_TRUE(HoldsInside([] { return Refused(ptrace(PTRACE_TRACEME, 0, nullptr, nullptr)); }));
  EXPECT_TRUE(HoldsInside([] { return Refused(unshare(CLONE_NEWUSER)); }));
  EXPECT_TRUE(HoldsInside([] { return Refused(mount("none", "/", "tmpfs", 0, nullptr)); }));
  EXPECT_TRUE(HoldsInside([] { return Refused(syscall(SYS_bpf, 0, nullptr, 0)); }));
  EXPECT_TRUE(HoldsInside([] { return Refused(syscall(SYS_keyctl, 0, 0, 0, 0, 0)); }));
  EXPECT_TRUE(HoldsInside([] { return Refused(syscall(SYS_process_vm_readv, getppid(), nullptr, 0, nullptr, 0, 0)); }));
  EXPECT_TRUE(HoldsInside([] { return Refused(setuid(getuid())); }));
  EXPECT_TRUE(HoldsInside([] { return Refused(socket(AF_INET, SOCK_STREAM, 0)); }));
}

TEST(Confinement, RefusesEveryCallThatItNames) {
  if (Sanitized()) GTEST_SKIP() << "no filter in a build with a sanitizer";
  for (const int call : ForbiddenCalls()) {
    if (call < 0) continue;  // not on this machine
    char* const name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, call);
    EXPECT_TRUE(HoldsInside([call] { return Refused(syscall(call, -1, 0, 0, 0, 0, 0)); }))
        << (name != nullptr ? name : "?");
    free(name);
  }
}

TEST(Confinement, StartsNoProcessAndNoProgram) {
  if (Sanitized()) GTEST_SKIP() << "no filter in a build with a sanitizer";
  char name[] = "/bin/true";
  char* const arguments[] = {name, nullptr};
  char* const environment[] = {nullptr};
  EXPECT_TRUE(HoldsInside([&] { return Refused(execve(name, arguments, environment)); }));
  EXPECT_TRUE(HoldsInside([&] {
    const int program = open(name, O_PATH);
    return program >= 0 && Refused(syscall(SYS_execveat, program, "", arguments, environment, AT_EMPTY_PATH));
  }));
  EXPECT_TRUE(HoldsInside([] { return Refused(fork()); }));
  for (const unsigned long flags :
       {0ul, (unsigned long)CLONE_NEWUSER, (unsigned long)(CLONE_VM | CLONE_VFORK), (unsigned long)CLONE_PARENT}) {
    EXPECT_TRUE(HoldsInside([flags] {
      return Refused(syscall(SYS_clone, flags | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
    })) << flags;
  }
  EXPECT_TRUE(HoldsInside([] { return syscall(SYS_clone3, nullptr, 0) == -1 && errno == ENOSYS; }));
}

TEST(Confinement, SignalsNobodyElse) {
  if (Sanitized()) GTEST_SKIP() << "no filter in a build with a sanitizer";
  const pid_t other = getpid();
  EXPECT_TRUE(HoldsInside([=] { return Refused(kill(other, 0)); }));
  EXPECT_TRUE(HoldsInside([=] { return Refused(syscall(SYS_tgkill, other, other, 0)); }));
  EXPECT_TRUE(HoldsInside([=] {
    const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, other, 0));
    return pidfd >= 0 && Refused(syscall(SYS_pidfd_send_signal, pidfd, 0, nullptr, 0));
  }));
  // By a descriptor whose owner is told when there is something to read.
  EXPECT_TRUE(HoldsInside([=] {
    int ends[2];
    f_owner_ex owner{.type = F_OWNER_PID, .pid = other};
    return socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && Refused(fcntl(ends[0], F_SETOWN, other)) &&
           Refused(fcntl(ends[0], F_SETOWN_EX, &owner)) && Refused(fcntl(ends[0], F_SETSIG, SIGKILL)) &&
           Refused(ioctl(ends[0], FIOSETOWN, &other)) && Refused(ioctl(ends[0], SIOCSPGRP, &other));
  }));
  EXPECT_TRUE(HoldsInside([] { return Refused(ioctl(0, TIOCSTI, "x")); }));
  EXPECT_TRUE(HoldsInside([=] {
    rlimit limit{};
    return Refused(prlimit(other, RLIMIT_NOFILE, nullptr, &limit));
  }));
}

TEST(Confinement, LooksIntoNoOtherProcess) {
  if (Sanitized()) GTEST_SKIP() << "no domain in a build with a sanitizer";
  if (syscall(SYS_landlock_create_ruleset, nullptr, 0, 1) < 0) GTEST_SKIP() << "this system has no Landlock";
  const std::string memory = "/proc/" + std::to_string(getpid()) + "/mem";
  const int before = open(memory.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(before, 0) << "nobody may do that here";
  close(before);
  EXPECT_TRUE(HoldsInside([&] { return open(memory.c_str(), O_RDWR) == -1 && (errno == EACCES || errno == EPERM); }));
  EXPECT_TRUE(HoldsInside([] { return open("/proc/self/mem", O_RDWR) >= 0; })) << "its own it may see";
}

TEST(Confinement, LeavesWhatAServerDoes) {
  EXPECT_TRUE(HoldsInside([] {
    bool caught = false;
    static bool* const seen = &caught;
    signal(SIGUSR1, [](int) { *seen = true; });
    const bool sent = syscall(SYS_tgkill, getpid(), getpid(), SIGUSR1) == 0;
    poll(nullptr, 0, 1);  // a sanitizer runs the handler at the next call that may wait
    return sent && caught;
  }));
  EXPECT_TRUE(HoldsInside([] {
    rlimit limit{};
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && setrlimit(RLIMIT_NOFILE, &limit) == 0;
  }));
  EXPECT_TRUE(HoldsInside([] { return socket(AF_UNIX, SOCK_SEQPACKET, 0) >= 0; }));
  EXPECT_TRUE(HoldsInside([] { return memfd_create("test", 0) >= 0; }));
  EXPECT_TRUE(HoldsInside([] {
    bool ran = false;
    std::thread([&] { ran = true; }).join();
    return ran;
  }));
}

TEST(Confinement, HoldsInThreadsThatWereThereBefore) {
  if (Sanitized()) GTEST_SKIP() << "no filter in a build with a sanitizer";
  const pid_t child = fork();
  if (child == 0) {
    int ready[2], go[2];
    if (pipe(ready) != 0 || pipe(go) != 0) _exit(1);
    bool refused = false;
    std::thread before([&] {
      char byte = 0;
      if (write(ready[1], "x", 1) != 1 || read(go[0], &byte, 1) != 1) return;
      refused = Refused(unshare(CLONE_NEWUSER));
    });
    char byte = 0;
    const bool filtered = read(ready[0], &byte, 1) == 1 && FilterSystemCalls().has_value();
    if (write(go[1], "x", 1) != 1) _exit(1);
    before.join();
    _exit(filtered && refused ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// The line "name: value" of a thread's status.
std::string Field(const std::filesystem::path& status, const std::string& name) {
  std::ifstream file(status);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name + ":")) return line.substr(line.find_first_not_of(" \t", name.size() + 1));
  }
  return "";
}

TEST(Confinement, IsThatOfEveryThreadOfAServer) {
  if (Sanitized()) GTEST_SKIP() << "no filter in a build with a sanitizer";
  const testing::ServerProcess server;
  int threads = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(server.pid()) + "/task")) {
    const auto status = task.path() / "status";
    ++threads;
    EXPECT_EQ(Field(status, "NoNewPrivs"), "1") << status;
    EXPECT_EQ(Field(status, "Seccomp"), "2") << status;
    for (const char* set : {"CapEff", "CapPrm", "CapInh", "CapAmb"}) {
      EXPECT_EQ(Field(status, set), "0000000000000000") << set << " of " << status;
    }
  }
  EXPECT_GT(threads, 1);
}

}  // namespace
}  // namespace tutti::server
