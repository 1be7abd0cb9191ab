// Every system call that the control daemon makes from a client's connection to its end fails in turn: those that accept
// it, find out who it is, start a server for it, hand it over, and those that write the log. Whatever fails, that client
// is served or told an error and does not hang; the daemon goes on, loses nothing, and serves the next one.
//
//   failing_daemon_test CONTROL CLIENT      a program that only opens and closes its devices
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "failing_calls.h"
#include "holdings.h"

namespace tutti::fault {
namespace {

using namespace std::chrono_literals;

std::string control, client;
std::string library;  // failing_calls.so, beside this program

class FailingDaemon : public testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/tutti-failing.XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
    setenv("CUDA_MPS_PIPE_DIRECTORY", folder, 1);
    setenv("CUDA_MPS_LOG_DIRECTORY", folder, 1);
    page_ = MakeFailPage(folder_ + "/page");
    ASSERT_NE(page_, nullptr);
    daemon_ = Start({control, "-f"}, true);
    for (int i = 0; i < 2000 && !std::filesystem::exists(folder_ + "/control"); ++i) std::this_thread::sleep_for(5ms);
  }
  void TearDown() override {
    if (daemon_ > 0 && kill(daemon_, SIGKILL) == 0) waitpid(daemon_, nullptr, 0);
    munmap(page_, kFailPageBytes);
    std::filesystem::remove_all(folder_);
  }

  pid_t Start(std::vector<std::string> words, bool fails) const {
    const pid_t pid = fork();
    if (pid != 0) return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (fails) {
      setenv("LD_PRELOAD", library.c_str(), 1);
      setenv(kFailIn, std::filesystem::path(words[0]).filename().c_str(), 1);
      setenv(kFailFile, (folder_ + "/page").c_str(), 1);
    }
    dup2(open("/dev/null", O_RDWR), 0);
    dup2(open("/dev/null", O_RDWR), 1);
    dup2(open((folder_ + "/stderr").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600), 2);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execv(arguments[0], arguments.data());
    _exit(127);
  }

  // Its exit status; 1000 + signal; -1 if it hangs.
  int Run(const std::vector<std::string>& words) const {
    const pid_t pid = Start(words, false);
    int status = 0;
    for (const auto end = std::chrono::steady_clock::now() + 60s; waitpid(pid, &status, WNOHANG) == 0; std::this_thread::sleep_for(1ms)) {
      if (std::chrono::steady_clock::now() < end) continue;
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
      return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }

  // Ends the server, so that the next client's is started again.
  void EndServer() const {
    const pid_t server = FirstServer(control);
    if (server == 0) return;
    (void)Run({control, "shutdown_server", std::to_string(server), "-f"});
    for (int i = 0; i < 2000 && kill(server, 0) == 0; ++i) std::this_thread::sleep_for(5ms);
  }

  // Waits until the daemon holds no more than that.
  bool HoldsAtMost(const Holdings& before) const {
    for (int i = 0; i < 1000; ++i) {
      if (HoldingsOf(daemon_).IsWithin(before)) return true;
      std::this_thread::sleep_for(10ms);
    }
    return false;
  }

  FailPage* page_ = nullptr;
  pid_t daemon_ = 0;
  std::string folder_;
};

TEST_F(FailingDaemon, GoesOnWhateverCallFailsWhileAClientComes) {
  ASSERT_EQ(Run({client}), 0) << "without any failure";
  EndServer();
  const Holdings before = HoldingsOf(daemon_);
  ASSERT_GT(before.descriptors, 0u);
  int wrong = 0;
  uint64_t call = 0;
  do {
    page_->calls.store(0);
    page_->fail_at.store(++call);
    const int status = Run({client});
    const uint64_t made = page_->calls.load();
    page_->fail_at.store(0);
    const std::string when = fmt::format("when call {}, {}, fails", call, made < call ? "none" : page_->failed);
    const bool told = status >= 0 && status < 127;
    EXPECT_TRUE(told) << "the client " << (status < 0 ? "hangs " : fmt::format("ends with {} ", status)) << when;
    ASSERT_EQ(waitpid(daemon_, nullptr, WNOHANG), 0) << "the daemon has ended " << when;
    const int next = Run({client});
    EXPECT_EQ(next, 0) << "the next client is not served " << when;
    EndServer();
    const bool within = HoldsAtMost(before);
    EXPECT_TRUE(within) << "the daemon holds " << HoldingsOf(daemon_).descriptors << " descriptors and not " << before.descriptors << ' ' << when;
    wrong += !told || next != 0 || !within;
    if (made < call) break;
  } while (wrong < 4);
  EXPECT_GT(call, 20u) << "the library fails nothing";
  fmt::print("{} calls\n", call - 1);
  EXPECT_LE(HoldingsOf(daemon_).resident_bytes, before.resident_bytes + (1 << 20)) << "the daemon has grown";
}

}  // namespace
}  // namespace tutti::fault

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 3) {
    fmt::print(stderr, "usage: {} CONTROL CLIENT\n", argv[0]);
    return 3;
  }
  tutti::fault::control = argv[1];
  tutti::fault::client = argv[2];
  tutti::fault::library = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "failing_calls.so";
  return RUN_ALL_TESTS();
}
