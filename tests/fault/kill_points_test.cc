// SIGKILL in the middle of operations that take long or hold something: attaching, copies under way, allocations by
// many threads at once, a module's load, a full ring. (failing_server_test kills at each call of the library,
// failing_compiles_test while a kernel is compiled, kill_storm at random.) All that the client had is freed; the others
// notice nothing.
//
//   kill_points_test CONTROL      with CUDA_MPS_PIPE_DIRECTORY of a running daemon
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "actor.h"
#include "control_main.h"
#include "holdings.h"
#include "ipc/message.h"
#include "os/socket.h"
#include "wire/messages.h"

namespace tutti::fault {
namespace {

using namespace std::chrono_literals;
using namespace cuda;
using Clock = std::chrono::steady_clock;

void Compute(ActorPage& page) {
  CUdeviceptr words;
  std::vector<uint32_t> found(1024);
  for (uint32_t round = 1; !page.leave.load(); ++round) {
    Check(page, "cuMemAlloc", cuMemAlloc_v2(&words, 4096));
    Check(page, "cuMemcpyDtoH", cuMemcpyDtoH_v2(found.data(), words, 4096));
    if (found[round % 1024] != 0) GiveUp(page, "its memory was not zero");
    Check(page, "cuMemsetD32", cuMemsetD32_v2(words, round, 1024));
    Check(page, "cuMemcpyDtoH", cuMemcpyDtoH_v2(found.data(), words, 4096));
    if (found[0] != round || found[1023] != round) GiveUp(page, "wrong results");
    Check(page, "cuMemFree", cuMemFree_v2(words));
    page.address.store(round);
    page.ready.store(true);
    std::this_thread::sleep_for(1ms);
  }
}

void LoadModule(ActorPage& page, int number) {
  CUmodule module;
  const std::string text =
      fmt::format(".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k{}() {{ ret; }}\n", number);
  Check(page, "cuModuleLoadData", cuModuleLoadData(&module, text.c_str()));
  page.ready.store(true);
  Check(page, "cuModuleUnload", cuModuleUnload(module));
}
constexpr int kModules = 3;

class KillPoints : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(beside_.AwaitReady(), "");
    // What a server opens once, for compiled code.
    Actor first([](ActorPage& page) {
      for (int i = 0; i < kModules; ++i) LoadModule(page, i);
    });
    ASSERT_EQ(first.AwaitEnd(), "");
    server_ = FirstServer(control);
    std::this_thread::sleep_for(100ms);
    before_ = HoldingsOf(server_);
  }
  void TearDown() override {
    const auto begin = Clock::now();
    while (!HoldingsOf(server_).IsWithin(before_) && Clock::now() < begin + 30s) std::this_thread::sleep_for(500us);
    const Holdings now = HoldingsOf(server_);
    EXPECT_TRUE(now.IsWithin(before_)) << fmt::format("{} descriptors, {} threads, {} memory files; before: {}, {}, {}",
                                                      now.descriptors, now.threads, now.memory_files,
                                                      before_.descriptors, before_.threads, before_.memory_files);
    fmt::print("all is back {:.1f} ms after the last kill\n",
               std::chrono::duration<double, std::milli>(Clock::now() - killed_).count());
    const uint64_t rounds = beside_.page().address.load();
    while (beside_.page().address.load() < rounds + 3 && !beside_.page().failed.load() && Clock::now() < begin + 60s)
      std::this_thread::sleep_for(1ms);
    EXPECT_GE(beside_.page().address.load(), rounds + 3) << "the other client has stopped";
    EXPECT_EQ(beside_.Leave(), "");
    EXPECT_EQ(FirstServer(control), server_) << "the server is another one";
  }

  // Several times, each a little later after it has reported that it has begun.
  void KillWhile(const std::function<void(ActorPage&)>& act) {
    for (int i = 0; i < 8; ++i) {
      Actor actor(act);
      ASSERT_EQ(actor.AwaitReady(), "");
      std::this_thread::sleep_for(i * 500us);
      ASSERT_FALSE(actor.page().failed.load()) << actor.page().failure;
      ASSERT_FALSE(actor.page().leave.load()) << "it was over before";
      killed_ = Clock::now();
      actor.Kill();
    }
  }

  Actor beside_{Compute};
  pid_t server_ = 0;
  Holdings before_;
  Clock::time_point killed_;
};

TEST_F(KillPoints, WhileCopiesAreUnderWay) {
  KillWhile([](ActorPage& page) {
    constexpr size_t kBytes = 64 << 20;
    CUdeviceptr from, to;
    Check(page, "cuMemAlloc", cuMemAlloc_v2(&from, kBytes));
    Check(page, "cuMemAlloc", cuMemAlloc_v2(&to, kBytes));
    while (true) {
      for (int i = 0; i < 20; ++i) Check(page, "cuMemcpyAsync", cuMemcpyAsync(to, from, kBytes, nullptr));
      page.ready.store(true);
      Check(page, "cuCtxSynchronize", cuCtxSynchronize());
    }
  });
}

TEST_F(KillPoints, WhileManyThreadsAllocate) {
  KillWhile([](ActorPage& page) {
    CUcontext context;
    Check(page, "cuCtxGetCurrent", cuCtxGetCurrent(&context));
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        Check(page, "cuCtxSetCurrent", cuCtxSetCurrent(context));
        std::vector<CUdeviceptr> held;
        for (size_t i = 0;; ++i) {
          Check(page, "cuMemAlloc",
                cuMemAlloc_v2(&held.emplace_back(), 1000 + (i * 7919 + static_cast<size_t>(t)) % (1 << 20)));
          if (i == 100) page.ready.store(true);
          if (held.size() < 50) continue;
          for (const CUdeviceptr address : held) Check(page, "cuMemFree", cuMemFree_v2(address));
          held.clear();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
}

TEST_F(KillPoints, WhileModulesAreLoaded) {
  KillWhile([](ActorPage& page) {
    for (int i = 0;; ++i) LoadModule(page, i % kModules);
  });
}

TEST_F(KillPoints, WhileItsRingIsFull) {
  KillWhile([](ActorPage& page) {
    CUdeviceptr words;
    Check(page, "cuMemAlloc", cuMemAlloc_v2(&words, 256 << 10));
    for (uint32_t i = 0;; ++i) {
      Check(page, "cuMemsetD32Async", cuMemsetD32Async(words, i, 64 << 10, nullptr));
      if (i == 20'000) page.ready.store(true);
    }
  });
}

// The handshake: nothing sent, a part of it sent, all of it sent and nothing read; before and after the server has the
// connection.
TEST_F(KillPoints, WhileItAttaches) {
  for (int i = 0; i < 40; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      auto socket = os::Connect(std::string(std::getenv("CUDA_MPS_PIPE_DIRECTORY")) + "/control");
      if (!socket) _exit(1);
      ByteWriter body;
      wire::Put(body, wire::Hello{.claimed_pid = static_cast<uint32_t>(getpid()), .command_line = "half"});
      if (i % 4 != 0) (void)ipc::SendMessage(socket->get(), wire::MessageKind::kHello, 0, std::move(body));
      if (i % 4 == 2) (void)ipc::ReceiveMessage(socket->get(), 1);
      if (i % 4 == 3) (void)ipc::ReceiveMessage(socket->get(), 10'000);
      kill(getpid(), SIGKILL);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << "it has not come to its end";
  }
  killed_ = Clock::now();
}

}  // namespace
}  // namespace tutti::fault
