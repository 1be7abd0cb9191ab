// Each claim is tried in a child that has confined itself as an executor of a vendor's driver does; the child's exit
// status is the answer.
#include "executor/confinement.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "os/confinement/call_filter.h"
#include "os/confinement/sanitized.h"

namespace tutti::executor {
namespace {

bool HasLandlock() { return syscall(SYS_landlock_create_ruleset, nullptr, 0, 1) >= 0; }

template <typename Body>
bool HoldsInside(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    (void)HideMemory();
    if ((HasLandlock() && !EnterDomain(false)) || !FilterSystemCalls()) _exit(77);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
bool Refused(long result) { return result == -1 && errno == EPERM; }

class ExecutorConfinement : public testing::Test {
 protected:
  void SetUp() override {
    if (os::kSanitized) GTEST_SKIP() << "none in a build with a sanitizer";
    std::string pattern = testing::TempDir() + "/executorXXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    home_ = pattern;
    setenv("HOME", home_.c_str(), 1);
    unsetenv("CUDA_CACHE_PATH");
  }
  void TearDown() override {
    if (!home_.empty()) std::filesystem::remove_all(home_);
  }

  std::filesystem::path home_;
};

// For a driver that does not survive it; the rest stays.
TEST_F(ExecutorConfinement, LeavesOutWhatItIsToldTo) {
  const auto without = [this](const char* parts, auto body) {
    setenv("TUTTI_EXECUTORS_UNCONFINED", parts, 1);
    const pid_t child = fork();
    if (child == 0) {
      (void)HideMemory();
      const bool in_domain = EnterDomain(false).has_value(), filtered = FilterSystemCalls().has_value();
      _exit(body(in_domain, filtered) ? 0 : 1);
    }
    unsetenv("TUTTI_EXECUTORS_UNCONFINED");
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  };
  const auto makes_a_file = [this] {
    return open((home_ / "elsewhere").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0;
  };
  const auto reaches_out = [] { return socket(AF_INET, SOCK_STREAM, 0) >= 0 || errno != EPERM; };
  const auto is_hidden = [] { return prctl(PR_GET_DUMPABLE) == 0; };
  EXPECT_TRUE(without("filter", [&](bool, bool filtered) { return !filtered && reaches_out() && is_hidden(); }));
  EXPECT_TRUE(without("memory,domain", [&](bool in_domain, bool filtered) {
    return !in_domain && filtered && makes_a_file() && !reaches_out() && !is_hidden();
  }));
  if (HasLandlock()) EXPECT_TRUE(without("filter", [&](bool in_domain, bool) { return in_domain && !makes_a_file(); }));
}

TEST_F(ExecutorConfinement, NamesWordsThatLeaveNothingOut) {
  const auto check = [](const char* words) {
    setenv("TUTTI_EXECUTORS_UNCONFINED", words, 1);
    const Status status = CheckWhatIsLeftOut();
    unsetenv("TUTTI_EXECUTORS_UNCONFINED");
    return status ? "" : status.error().text;
  };
  EXPECT_EQ(check(""), "");
  EXPECT_EQ(check("domain,memory,"), "");
  EXPECT_EQ(check("memory,domian, filter"),
            "TUTTI_EXECUTORS_UNCONFINED has \"domian\", \" filter\", which is none of memory, domain and filter");
}

TEST_F(ExecutorConfinement, RefusesEveryCallThatReachesOut) {
  for (const int call : os::CallsThatReachOut()) {
    if (call < 0) continue;  // not on this machine
    char* const name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, call);
    EXPECT_TRUE(HoldsInside([call] { return Refused(syscall(call, -1, 0, 0, 0, 0, 0)); }))
        << (name != nullptr ? name : "?");
    free(name);
  }
}

TEST_F(ExecutorConfinement, ReachesNoOtherProcess) {
  const pid_t other = getpid();
  EXPECT_TRUE(HoldsInside([=] { return Refused(ptrace(PTRACE_ATTACH, other, nullptr, nullptr)); }));
  EXPECT_TRUE(HoldsInside([=] { return Refused(syscall(SYS_process_vm_readv, other, nullptr, 0, nullptr, 0, 0)); }));
  EXPECT_TRUE(HoldsInside([=] { return Refused(syscall(SYS_tgkill, other, other, 0)); }));
  EXPECT_TRUE(HoldsInside([=] { return Refused(syscall(SYS_move_pages, other, 0, nullptr, nullptr, nullptr, 0)); }));
  EXPECT_TRUE(HoldsInside([] { return Refused(fork()); }));
  EXPECT_TRUE(HoldsInside([] { return Refused(socket(AF_INET, SOCK_STREAM, 0)); }));
  EXPECT_TRUE(HoldsInside([] {
    const sockaddr_un address{.sun_family = AF_UNIX, .sun_path = "/run/user/bus"};
    const int own = socket(AF_UNIX, SOCK_STREAM, 0);
    return own >= 0 && Refused(connect(own, reinterpret_cast<const sockaddr*>(&address), sizeof address));
  }));
}

TEST_F(ExecutorConfinement, IsTracedByNobody) {
  EXPECT_TRUE(HoldsInside([] { return prctl(PR_GET_DUMPABLE) == 0; }));
}

TEST_F(ExecutorConfinement, WritesToDevicesAndToItsCacheAlone) {
  if (!HasLandlock()) GTEST_SKIP() << "this system has no Landlock";
  const auto writes = [&](const char* name) {
    return open((home_ / name).c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600) >= 0;
  };
  EXPECT_TRUE(HoldsInside([&] { return !writes(".profile") && errno == EACCES; }));
  EXPECT_TRUE(HoldsInside([&] { return writes(".nv/ComputeCache/index"); })) << "made before there was a cache";
  EXPECT_TRUE(HoldsInside([&] {
    return std::filesystem::create_directories(home_ / ".nv/ComputeCache/a/b") && writes(".nv/ComputeCache/a/b/code");
  }));
  EXPECT_TRUE(HoldsInside([] { return open("/dev/null", O_RDWR | O_CLOEXEC) >= 0; }));
  EXPECT_TRUE(HoldsInside([] { return open("/dev/full", O_RDWR | O_CLOEXEC) < 0 && errno == EACCES; }))
      << "no device of a GPU's driver";
  setenv("CUDA_CACHE_PATH", (home_ / "elsewhere").c_str(), 1);
  EXPECT_TRUE(HoldsInside([&] { return writes("elsewhere/index"); }));
  EXPECT_TRUE(HoldsInside([&] { return !writes(".nv/ComputeCache/index"); }));
}

TEST_F(ExecutorConfinement, LeavesTheUsersFilesWhatTheyAre) {
  const std::string file = home_ / "profile";
  std::ofstream(file) << "kept";
  EXPECT_TRUE(HoldsInside([&] { return Refused(chmod(file.c_str(), 0666)); }));
  EXPECT_TRUE(HoldsInside([&] { return Refused(fchmod(open(file.c_str(), O_RDONLY | O_CLOEXEC), 04755)); }));
  EXPECT_TRUE(HoldsInside([&] { return Refused(truncate(file.c_str(), 0)); }));
  EXPECT_TRUE(HoldsInside([&] { return Refused(open(file.c_str(), O_RDONLY | O_TRUNC | O_CLOEXEC)); }));
  EXPECT_EQ(std::filesystem::file_size(file), 4u);
  // In its cache, where it may make files.
  const std::string made = home_ / ".nv/ComputeCache/program";
  for (const mode_t mode : {04755, 02755}) {
    EXPECT_TRUE(HoldsInside([&] { return Refused(open(made.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, mode)); }));
    EXPECT_TRUE(HoldsInside([&] { return Refused(syscall(SYS_creat, made.c_str(), mode)); }));
  }
  EXPECT_TRUE(HoldsInside([&] {
    const int own = open(made.c_str(), O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0755);
    return own >= 0 && ftruncate(own, 100) == 0;
  }));
}

TEST_F(ExecutorConfinement, SendsToNobodyAndHoldsUpNobody) {
  EXPECT_TRUE(HoldsInside([] { return Refused(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)); }));
  EXPECT_TRUE(HoldsInside([] { return Refused(socket(AF_UNIX, SOCK_RAW, 0)); }));
  const pid_t other = getpid();
  EXPECT_TRUE(HoldsInside([=] { return Refused(setpriority(PRIO_PROCESS, other, 19)); }));
  EXPECT_TRUE(HoldsInside([] { return Refused(setpriority(PRIO_USER, 0, 19)); }));
  EXPECT_TRUE(HoldsInside([=] {
    const sched_param none{};
    return Refused(sched_setscheduler(other, SCHED_IDLE, &none));
  }));
  EXPECT_TRUE(HoldsInside([] { return setpriority(PRIO_PROCESS, 0, 5) == 0; }));
}

TEST_F(ExecutorConfinement, LeavesWhatDriversDo) {
  EXPECT_TRUE(HoldsInside([] { return dlopen("libm.so.6", RTLD_NOW) != nullptr; }));
  EXPECT_TRUE(HoldsInside([] {
    bool ran = false;
    std::thread([&] { ran = true; }).join();
    return ran;
  }));
  EXPECT_TRUE(HoldsInside([] {
    void* const code = mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return code != MAP_FAILED && syscall(SYS_mbind, code, 4096, 0, nullptr, 0, 0) == 0 &&
           syscall(SYS_set_mempolicy, 0, nullptr, 0) == 0;
  }));
  EXPECT_TRUE(HoldsInside([] { return syscall(SYS_move_pages, 0, 0, nullptr, nullptr, nullptr, 0) == 0; }));
  EXPECT_TRUE(HoldsInside([] {
    int ends[2];
    return socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0 && memfd_create("test", 0) >= 0;
  }));
  EXPECT_TRUE(HoldsInside([] { return open("/proc/self/maps", O_RDONLY) >= 0 && open("/sys", O_RDONLY) >= 0; }));
  EXPECT_TRUE(HoldsInside([] { return syscall(SYS_tgkill, getpid(), getpid(), 0) == 0; }));
}

}  // namespace
}  // namespace tutti::executor
