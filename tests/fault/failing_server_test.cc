// One server for many clients: every system call of it from a client's attach to its end fails in turn, with the code
// in the cache and with a cache that is emptied each time; then a client is killed at each of its library's own calls.
// Whatever fails, that client is served or gets an error, the next one is served, and the server is the same process
// and holds no more descriptors, threads, windows and memory than before.
//
//   failing_server_test CONTROL CLIENT ARGUMENTS...      a program that loads a kernel and checks what it computes
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "daemon_stage.h"

namespace tutti::fault {
namespace {

using namespace std::chrono_literals;

constexpr size_t kGrowthBytes = 8 << 20;  // heap fragmentation

// The process name of servers that the daemon starts.
constexpr const char* kServer = "nvidia-cuda-mps-server";
std::string control;
std::vector<std::string> client;

class FailingServer : public testing::Test {
 protected:
  // `failing`: the process whose calls these are.
  void Begin(const std::string& failing, const char* only = "") {
    setenv("TUTTI_CACHE_DIR",
           (std::filesystem::temp_directory_path() / fmt::format("tutti-failing-cache.{}", getpid())).c_str(), 1);
    stage_ = std::make_unique<DaemonStage>(control, failing);
    for (int i = 0; i < 5; ++i) ASSERT_EQ(stage_->Run(client), 0) << "without any failure";
    server_ = stage_->Server();
    ASSERT_GT(server_, 0);
    std::strncpy(stage_->page().only, only, sizeof stage_->page().only - 1);
    std::this_thread::sleep_for(200ms);
    before_ = HoldingsOf(server_);
  }
  void TearDown() override {
    stage_.reset();
    std::filesystem::remove_all(std::getenv("TUTTI_CACHE_DIR"));
  }

  // Until a client's life has fewer calls. `kills`: the calls are the last of their process, not failures.
  void FailAll(bool kills, bool keep_cache) {
    int wrong = 0;
    uint64_t call = 1;
    for (;; ++call) {
      if (!keep_cache) EmptyCache();
      stage_->FailAt(call, kills);
      const int status = stage_->Run(client, kills);
      const uint64_t made = stage_->page().calls.load();
      const std::string when = stage_->When(call);
      stage_->FailAt(0);
      const bool as_told = (status >= 0 && status < 127) || (kills && status == 1000 + SIGKILL);
      EXPECT_TRUE(as_told) << "the client " << (status < 0 ? "hangs " : fmt::format("ends with {} ", status)) << when;
      const int next = stage_->Run(client);
      EXPECT_EQ(next, 0) << "the next client is not served " << when;
      ASSERT_EQ(stage_->Server(), server_) << "the server is another one " << when;
      const bool within = DaemonStage::HoldsAtMost(server_, before_);
      EXPECT_TRUE(within) << "the server holds " << Text(HoldingsOf(server_)) << " and not " << Text(before_) << ' '
                          << when;
      wrong += !as_told || next != 0 || !within;
      if (made < call || wrong > 3) break;
    }
    EXPECT_GT(call, 6u) << "the library fails nothing";
    const Holdings after = HoldingsOf(server_);
    EXPECT_LT(after.resident_bytes, before_.resident_bytes + kGrowthBytes);
    fmt::print("{} calls; the server's memory: {} KiB before, {} KiB after\n", call - 1, before_.resident_bytes >> 10,
               after.resident_bytes >> 10);
  }

  static std::string Text(const Holdings& h) {
    return fmt::format("{} descriptors, {} threads, {} memory files", h.descriptors, h.threads, h.memory_files);
  }
  static void EmptyCache() {
    for (const auto& entry : std::filesystem::directory_iterator(std::getenv("TUTTI_CACHE_DIR")))
      std::filesystem::remove(entry);
  }

  std::unique_ptr<DaemonStage> stage_;
  pid_t server_ = 0;
  Holdings before_;
};

TEST_F(FailingServer, LosesNothingWhateverCallFails) {
  Begin(kServer);
  FailAll(false, true);
}

TEST_F(FailingServer, LosesNothingWhateverCallFailsWhileItCompiles) {
  Begin(kServer, " socketpair fork open memfd_create pwrite openat write renameat ");
  FailAll(false, false);
}

TEST_F(FailingServer, LosesNothingWhereverAClientIsKilled) {
  Begin(std::filesystem::path(client[0]).filename());
  FailAll(true, true);
}

}  // namespace
}  // namespace tutti::fault

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc < 3) return fmt::print(stderr, "usage: {} CONTROL CLIENT ARGUMENTS...\n", argv[0]), 3;
  tutti::fault::control = argv[1];
  tutti::fault::client.assign(argv + 2, argv + argc);
  return RUN_ALL_TESTS();
}
