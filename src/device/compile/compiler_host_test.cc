#include "device/compile/compiler_host.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "device/compile/compiler_pool.h"
#include "device/compile/testing/code_test_base.h"
#include "os/lifeline.h"
#include "os/socket.h"

namespace tutti::device {
namespace {

using testing::HasSubstr;

class CompilerHostTest : public CodeTestBase {
 protected:
  static Result<pid_t> StartOne(CompilerHost& host) {
    auto pair = os::SocketPair();
    auto lifeline = os::CreateLifeline();
    if (!pair || !lifeline) return Fail("no descriptors");
    return host.StartCompiler(pair->second.get(), lifeline->watched.get());
  }
  static bool Gone(pid_t pid) {
    for (int i = 0; i < 1000; ++i) {
      if (kill(pid, 0) != 0) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
};

TEST_F(CompilerHostTest, AWorkerIsNoChildOfTheServer) {
  const auto host = Host();
  const auto worker = StartOne(*host);
  ASSERT_TRUE(worker) << worker.error().text;
  EXPECT_EQ(waitpid(*worker, nullptr, WNOHANG), -1);
  const auto status = host->EndCompiler(*worker);
  ASSERT_TRUE(status) << status.error().text;
  EXPECT_TRUE(Gone(*worker));
}

TEST_F(CompilerHostTest, EndsNobodyElsesProcess) {
  const auto host = Host();
  const pid_t other = fork();
  if (other == 0) {
    pause();
    _exit(0);
  }
  for (const pid_t pid : {other, getpid(), host->pid(), -1, 1}) EXPECT_FALSE(host->EndCompiler(pid)) << pid;
  EXPECT_EQ(waitpid(other, nullptr, WNOHANG), 0) << "it has ended";
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  const auto worker = StartOne(*host);
  ASSERT_TRUE(worker);
  EXPECT_TRUE(host->EndCompiler(*worker));
  EXPECT_FALSE(host->EndCompiler(*worker)) << "the number may be another process's by now";
}

TEST_F(CompilerHostTest, StartsSoManyWorkersAndNoMore) {
  const auto host = Host();
  std::vector<pid_t> workers;
  for (size_t i = 0; i < MostCompilers(settings_); ++i) {
    const auto worker = StartOne(*host);
    ASSERT_TRUE(worker) << worker.error().text;
    workers.push_back(*worker);
  }
  EXPECT_FALSE(StartOne(*host));
  EXPECT_TRUE(host->EndCompiler(workers.back()));
  workers.pop_back();
  const auto worker = StartOne(*host);
  ASSERT_TRUE(worker) << worker.error().text;
  workers.push_back(*worker);
  for (const pid_t each : workers) EXPECT_TRUE(host->EndCompiler(each));
}

TEST_F(CompilerHostTest, GoesOnAfterQuestionsThatMeanNothing) {
  const auto host = Host();
  const uint8_t noise[] = {1, 2, 3};
  for (const std::span<const uint8_t> question :
       {std::span<const uint8_t>(noise, 1), std::span<const uint8_t>(noise)}) {
    ASSERT_TRUE(os::Send(host->fd(), question));
    ASSERT_TRUE(os::Receive(host->fd(), 10'000));
  }
  const uint8_t start[4] = {};  // without descriptors
  ASSERT_TRUE(os::Send(host->fd(), start));
  ASSERT_TRUE(os::Receive(host->fd(), 10'000));
  const auto worker = StartOne(*host);
  ASSERT_TRUE(worker) << worker.error().text;
  EXPECT_TRUE(host->EndCompiler(*worker));
}

TEST_F(CompilerHostTest, WhereItHasEndedARequestFailsAndSaysSo) {
  const auto host = Host();
  CompilerPool pool(settings_, host);
  const auto ask = [&](const char* kernel) {
    const std::span<const uint8_t> image(reinterpret_cast<const uint8_t*>(kernel), 4);
    const Cancelled never{false};
    return pool.Compile({.op = compiler::CompileOp::kKernel, .kernel = kernel}, image, HashOf(image), never);
  };
  ASSERT_TRUE(ask("good"));
  kill(host->pid(), SIGKILL);
  ASSERT_EQ(waitpid(host->pid(), nullptr, 0), host->pid());
  EXPECT_TRUE(ask("good")) << "the worker that is there already";
  const auto answer = ask("second");
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().text, HasSubstr("nothing can be compiled any more by this server"));
}

TEST_F(CompilerHostTest, EndsWithItsServerEvenIfItStandsStill) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t server = fork();
  if (server == 0) {
    const auto host = CompilerHost::Start(settings_);
    const pid_t pid = host && !(*host)->EndCompiler(1) ? (*host)->pid() : 0;  // an answer: it is there
    kill(pid, SIGSTOP);
    if (write(ready[1], &pid, sizeof pid) != sizeof pid) _exit(1);
    pause();
    _exit(0);
  }
  pid_t host = 0;
  ASSERT_EQ(read(ready[0], &host, sizeof host), static_cast<ssize_t>(sizeof host));
  ASSERT_GT(host, 0);
  kill(server, SIGKILL);
  waitpid(server, nullptr, 0);
  // Without a reaper for orphans it stays as a zombie.
  bool gone = false;
  for (int i = 0; i < 1000 && !gone; ++i) {
    std::string stat;
    std::getline(std::ifstream("/proc/" + std::to_string(host) + "/stat"), stat);
    gone = stat.empty() || stat.find(") Z") != std::string::npos;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(gone);
}

}  // namespace
}  // namespace tutti::device
