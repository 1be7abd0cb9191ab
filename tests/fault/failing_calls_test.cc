// Every system call of attaching, allocating, compiling, launching and writing the code cache fails in turn, once in
// the server and once in the client library. Whatever fails, the program ends by itself, with its result or with an
// error of the driver; no process dies of a signal, and none stays.
//
//   failing_calls_test PROGRAM ARGUMENTS...     a program that loads libcuda.so.1 and has a private server
#include "failing_calls.h"

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
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace tutti::fault {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> program;
std::string library;  // failing_calls.so, beside this program

class FailingCalls : public testing::Test {
 protected:
  void SetUp() override {
    // Makes orphans of a run our children, so that we can wait for them.
    ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    char folder[] = "/tmp/tutti-failing.XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
    page_ = MakeFailPage(folder_ + "/page");
    ASSERT_NE(page_, nullptr);
  }
  void TearDown() override {
    munmap(page_, kFailPageBytes);
    std::filesystem::remove_all(folder_);
  }

  pid_t Start(const std::string& process, const std::string& cache) {
    const pid_t pid = fork();
    if (pid != 0) return pid;
    const char* const preloaded = std::getenv("LD_PRELOAD");
    setenv("LD_PRELOAD", preloaded != nullptr ? fmt::format("{}:{}", preloaded, library).c_str() : library.c_str(), 1);
    setenv(kFailIn, process.c_str(), 1);
    setenv(kFailFile, (folder_ + "/page").c_str(), 1);
    setenv("TUTTI_CACHE_DIR", cache.c_str(), 1);
    setenv("CUDA_MPS_PIPE_DIRECTORY", (folder_ + "/no_daemon").c_str(), 1);
    dup2(open("/dev/null", O_WRONLY), 1);
    dup2(open((folder_ + "/stderr").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
    std::vector<char*> arguments;
    for (std::string& word : program) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execv(arguments[0], arguments.data());
    _exit(127);
  }

  // The complaint about one run; empty if it went well. `deadly`: the process dies at the given call.
  std::string Run(const std::string& process, const std::string& cache, uint64_t fail_at,
                  const char* deadly = nullptr) {
    new (page_) FailPage;
    if (deadly != nullptr) {
      std::strncpy(page_->only, deadly, sizeof page_->only - 1);
      page_->kills.store(true);
    }
    page_->fail_at.store(fail_at);
    const pid_t pid = Start(process, cache);
    std::string wrong;
    bool all_ended = false;
    for (const auto end = std::chrono::steady_clock::now() + 20s;
         !all_ended && std::chrono::steady_clock::now() < end;) {
      int status = 0;
      const pid_t ended = waitpid(-1, &status, WNOHANG);
      if (ended == 0) std::this_thread::sleep_for(1ms);
      all_ended = ended < 0;
      if (ended <= 0) continue;
      if (ended == pid) ended_well_ = WIFEXITED(status) && WEXITSTATUS(status) == 0;
      if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL) {
        wrong +=
            fmt::format("{} died of signal {}; ", ended == pid ? "the program" : "a process of it", WTERMSIG(status));
      } else if (ended == pid && (!WIFEXITED(status) || WEXITSTATUS(status) > 3)) {
        wrong += fmt::format("the program ended with {:#x}; ", status);
      }
    }
    if (!all_ended) {
      wrong += "a process is left; ";
      kill(pid, SIGKILL);
      while (waitpid(-1, nullptr, WNOHANG) >= 0) std::this_thread::sleep_for(10ms);
    }
    return wrong;
  }

  // Makes the calls [first, ...) of `process` fail, one per run, until a run makes fewer. Returns how many there were.
  uint64_t All(const std::string& process, bool keep_cache, uint64_t first = 1) {
    const std::string cache = folder_ + "/cache";
    for (uint64_t call = first;; ++call) {
      if (!keep_cache) std::filesystem::remove_all(cache);
      const std::string wrong = Run(process, cache, call);
      EXPECT_EQ(wrong, "") << "when call " << call << " of " << process << ", " << page_->failed << ", fails";
      wrong_runs_ += !wrong.empty();
      if (page_->calls.load() < call || wrong_runs_ > 3) return page_->calls.load();
    }
  }

  FailPage* page_ = nullptr;
  int wrong_runs_ = 0;
  bool ended_well_ = false;  // the last program
  std::string folder_;
};

TEST_F(FailingCalls, OfTheServerWithCompiledCode) {
  const std::string cache = folder_ + "/cache";
  ASSERT_EQ(Run("tutti-server", cache, 0), "");  // fills the cache
  EXPECT_GT(All("tutti-server", true), 20u);
}

TEST_F(FailingCalls, OfTheServerThatCompiles) {
  const std::string cache = folder_ + "/cache";
  ASSERT_EQ(Run("tutti-server", cache, 0), "");
  const uint64_t cold = page_->calls.load();
  ASSERT_EQ(Run("tutti-server", cache, 0), "");
  const uint64_t warm = page_->calls.load();
  ASSERT_GT(cold, warm);
  // The first calls are those of before; compiling comes in the middle.
  All("tutti-server", false, warm / 2);
}

TEST_F(FailingCalls, OfTheCompiler) {
  const std::string cache = folder_ + "/cache";
  ASSERT_EQ(Run("tutti-compiler", cache, 0), "");
  ASSERT_TRUE(ended_well_);
  EXPECT_GT(All("tutti-compiler", false), 5u);
}

// A server that dies in the middle of any write leaves a cache that the next one can use.
TEST_F(FailingCalls, DeathsOfTheServerWhileItWritesItsCache) {
  const std::string cache = folder_ + "/cache";
  uint64_t call = 0;
  do {
    std::filesystem::remove_all(cache);
    const std::string died = Run("tutti-server", cache, ++call, " write renameat ");
    EXPECT_EQ(died, "") << "when the server dies at call " << call << ", " << page_->failed;
    if (page_->calls.load() < call) break;
    EXPECT_EQ(Run("tutti-server", cache, 0), "");
    EXPECT_TRUE(ended_well_) << "with what the server left that died at call " << call << ", " << page_->failed;
    std::ifstream said(folder_ + "/stderr");
    const std::string log{std::istreambuf_iterator<char>(said), {}};
    EXPECT_EQ(log.find("damaged"), log.npos) << log;
  } while (call < 100);
  EXPECT_GT(call, 4u) << "nothing was written";
}

TEST_F(FailingCalls, OfTheClientLibrary) {
  ASSERT_EQ(Run("tutti-server", folder_ + "/cache", 0), "");
  EXPECT_GT(All(std::filesystem::path(program[0]).filename(), true), 5u);
}

}  // namespace
}  // namespace tutti::fault

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc < 2) {
    fmt::print(stderr, "usage: {} PROGRAM ARGUMENTS...\n", argv[0]);
    return 3;
  }
  tutti::fault::program.assign(argv + 1, argv + argc);
  tutti::fault::library = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "failing_calls.so";
  return RUN_ALL_TESTS();
}
