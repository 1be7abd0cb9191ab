#include "device/compile/compiler_pool.h"

#include <gmock/gmock.h>
#include <signal.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "cuda/result.h"
#include "device/compile/testing/code_test_base.h"

namespace tutti::device {
namespace {

using testing::HasSubstr;

class CompilerPoolTest : public CodeTestBase {
 protected:
  Result<CompilerProcess::Answer> Ask(CompilerPool& pool, const std::string& kernel,
                                      const std::string& image = "image") {
    const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(image.data()), image.size());
    return pool.Compile({.op = compiler::CompileOp::kKernel, .kernel = kernel}, bytes, HashOf(bytes), cancelled_);
  }
  Result<CompilerProcess::Answer> AskFor(const Cancelled& client, CompilerPool& pool, const std::string& kernel) {
    const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>("image"), 5);
    return pool.Compile({.op = compiler::CompileOp::kKernel, .kernel = kernel}, bytes, HashOf(bytes), client);
  }
  Cancelled cancelled_{false};
  // Returns once no worker is left; the test's own time limit is the only one.
  static void WaitUntilIdleOnesEnd(const CompilerPool& pool) {
    while (pool.workers() != 0) std::this_thread::yield();
  }
};

TEST_F(CompilerPoolTest, AWorkerIsUsedAgain) {
  CompilerPool pool(settings_, Host());
  for (int i = 0; i < 3; ++i) {
    const auto answer = Ask(pool, "good");
    ASSERT_TRUE(answer) << answer.error().text;
    EXPECT_EQ(answer->status, 0);
    EXPECT_GT(answer->bytes.size(), 1000u);
  }
  EXPECT_EQ(CountOf("good"), 3);
  EXPECT_EQ(Processes(), 1u);
}

TEST_F(CompilerPoolTest, ARefusalIsAnAnswer) {
  CompilerPool pool(settings_, Host());
  const auto answer = Ask(pool, "refuse");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 218);
  EXPECT_THAT(answer->log, HasSubstr("refused"));
}

TEST_F(CompilerPoolTest, ACrashCostsItsRequestOnly) {
  CompilerPool pool(settings_, Host());
  const auto crashed = Ask(pool, "crash");
  ASSERT_FALSE(crashed);
  EXPECT_THAT(crashed.error().text, HasSubstr("signal 6"));
  EXPECT_TRUE(Ask(pool, "good"));
  EXPECT_EQ(CountOf("crash"), 1);
}

TEST_F(CompilerPoolTest, ASlowRequestIsStopped) {
  settings_.request_limit_ns = 100'000'000;
  CompilerPool pool(settings_, Host());
  const auto stopped = Ask(pool, "hang");
  ASSERT_FALSE(stopped);
  EXPECT_THAT(stopped.error().text, HasSubstr("stopped after"));
  EXPECT_EQ(kill(Requests().at(0).pid, 0), -1) << "the worker is still there";
  settings_.request_limit_ns = 120'000'000'000;
  EXPECT_EQ(pool.workers(), 0u);
}

TEST_F(CompilerPoolTest, ACancelledRequestTakesItsWorkerAlong) {
  CompilerPool pool(settings_, Host());
  std::thread canceller([this] {
    while (CountOf("hang") == 0) std::this_thread::yield();
    cancelled_ = true;
  });
  const auto cancelled = Ask(pool, "hang");
  canceller.join();
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code, cuda::CUDA_ERROR_MPS_CLIENT_TERMINATED);
  EXPECT_EQ(pool.workers(), 0u);
  EXPECT_EQ(kill(Requests().at(0).pid, 0), -1) << "the worker is still there";
}

// Of the compilations that go on when their clients have gone.
class UnattendedTest : public CompilerPoolTest {
 protected:
  UnattendedTest() { settings_.finish_after_ns = 0; }
  // Asks for `kernel` and cancels once the worker has it.
  void AskAndLeave(CompilerPool& pool, const std::string& kernel) {
    Cancelled gone{false};
    std::thread canceller([&] {
      while (CountOf(kernel) == 0) std::this_thread::yield();
      gone = true;
    });
    const std::span<const uint8_t> image(reinterpret_cast<const uint8_t*>("image"), 5);
    const auto answer = pool.Compile({.op = compiler::CompileOp::kKernel, .kernel = kernel}, image, HashOf(image), gone,
                                     {}, [this](const std::vector<uint8_t>& bytes) { kept_bytes_ = bytes.size(); });
    canceller.join();
    EXPECT_FALSE(answer);
  }
  std::atomic<size_t> kept_bytes_{0};
};

TEST_F(UnattendedTest, ItsCodeIsKept) {
  std::ofstream(folder_ / "log.hold").put(' ');
  CompilerPool pool(settings_, Host());
  AskAndLeave(pool, "good");
  EXPECT_EQ(pool.workers(), 1u);
  std::filesystem::remove(folder_ / "log.hold");
  while (kept_bytes_ == 0) std::this_thread::yield();
  EXPECT_GT(kept_bytes_, 1000u);
}

TEST_F(UnattendedTest, ThereIsOneAtATime) {
  CompilerPool pool(settings_, Host());
  AskAndLeave(pool, "hang");
  std::ofstream(folder_ / "log.hold").put(' ');
  AskAndLeave(pool, "good");
  EXPECT_EQ(pool.workers(), 1u);
}

TEST_F(UnattendedTest, ItGivesWayToAClientThatWaitsForAPlace) {
  settings_.max_compilers = 1;
  CompilerPool pool(settings_, Host());
  AskAndLeave(pool, "hang");
  EXPECT_TRUE(Ask(pool, "good"));
  EXPECT_EQ(kept_bytes_, 0u);
}

TEST_F(UnattendedTest, ItEndsWithThePool) {
  const auto host = Host();
  {
    CompilerPool pool(settings_, host);
    AskAndLeave(pool, "hang");
    EXPECT_EQ(kill(Requests().at(0).pid, 0), 0);
  }
  EXPECT_EQ(kill(Requests().at(0).pid, 0), -1) << "the worker is still there";
}

TEST_F(UnattendedTest, AShortOneEndsWithItsClient) {
  settings_.finish_after_ns = 100'000'000'000;
  CompilerPool pool(settings_, Host());
  AskAndLeave(pool, "hang");
  EXPECT_EQ(pool.workers(), 0u);
}

TEST_F(CompilerPoolTest, ACancelledRequestDoesNotWaitForAPlace) {
  settings_.max_compilers = 1;
  CompilerPool pool(settings_, Host());
  std::thread first([&] { EXPECT_FALSE(Ask(pool, "hang")); });
  while (CountOf("hang") == 0) std::this_thread::yield();
  std::thread second([&] { (void)Ask(pool, "good"); });  // cancelled, or made if the first one has left by then
  cancelled_ = true;
  first.join();
  second.join();
}

TEST_F(CompilerPoolTest, AWorkerThatDiedWhileIdleIsReplacedUnnoticed) {
  CompilerPool pool(settings_, Host());
  ASSERT_TRUE(Ask(pool, "good"));
  kill(Requests().at(0).pid, SIGKILL);
  // The kernel closes the worker's socket before kill()'s sender can see it gone, but not before kill() returns.
  while (kill(Requests().at(0).pid, 0) == 0 &&
         std::ifstream("/proc/" + std::to_string(Requests()[0].pid) + "/stat").good()) {
    std::string stat;
    std::getline(std::ifstream("/proc/" + std::to_string(Requests()[0].pid) + "/stat"), stat);
    if (stat.find(") Z") != std::string::npos) break;
    std::this_thread::yield();
  }
  const auto answer = Ask(pool, "good");
  ASSERT_TRUE(answer) << answer.error().text;
  EXPECT_EQ(Processes(), 2u);
}

TEST_F(CompilerPoolTest, IdleWorkersEnd) {
  settings_.idle_limit_ns = 1'000'000;
  CompilerPool pool(settings_, Host());
  ASSERT_TRUE(Ask(pool, "good"));
  WaitUntilIdleOnesEnd(pool);
  // The pool drops a worker a moment before its process is gone.
  while (kill(Requests().at(0).pid, 0) == 0) std::this_thread::yield();
  EXPECT_TRUE(Ask(pool, "good"));
}

TEST_F(CompilerPoolTest, NoMoreWorkersThanAllowed) {
  CompilerPool pool(settings_, Host());
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 4; ++k) EXPECT_TRUE(Ask(pool, "good", "image " + std::to_string(i)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(CountOf("good"), 32);
  EXPECT_LE(pool.workers(), 2u);
}

TEST_F(CompilerPoolTest, AWorkerThatKnowsTheImageIsUsedAgain) {
  CompilerPool pool(settings_, Host());
  ASSERT_TRUE(Ask(pool, "good", "a"));
  ASSERT_TRUE(Ask(pool, "good", "b"));
  ASSERT_TRUE(Ask(pool, "good", "a"));
  const auto requests = Requests();
  EXPECT_NE(requests.at(0).pid, requests.at(1).pid);
  EXPECT_EQ(requests.at(0).pid, requests.at(2).pid);
}

// An image that takes over its worker must not reach the kernels of others.
TEST_F(CompilerPoolTest, AWorkerSeesOneImage) {
  CompilerPool pool(settings_, Host());
  for (const char* image : {"a", "b", "c", "d"}) ASSERT_TRUE(Ask(pool, "good", image));
  EXPECT_EQ(Processes(), 4u);
  EXPECT_LE(pool.workers(), 2u);
}

TEST_F(CompilerPoolTest, AMissingCompilerIsSaidByItsName) {
  settings_.compiler = "/nonexistent/tutti-compiler";
  CompilerPool pool(settings_, Host());
  const auto answer = Ask(pool, "good");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, cuda::CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
  EXPECT_THAT(answer.error().text, HasSubstr("/nonexistent/tutti-compiler"));
  EXPECT_EQ(pool.workers(), 0u);
}

}  // namespace
}  // namespace tutti::device
