// Executors that send what nobody has asked for (device/gpu/testing/hostile_executor.cc): the server receives none of
// it, and does not close it on a thread that others wait for.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "device/cts/client.h"
#include "device/gpu/current_executor.h"
#include "device/gpu/executor_link.h"
#include "device/gpu/gpu_backend.h"
#include "executor/protocol/request.h"

namespace tutti::device::gpu {
namespace {

using executor::RequestKind;

GpuSettings Hostile(const char* how) { return {.executor = TUTTI_HOSTILE_EXECUTOR, .vendor = how}; }

// What is left for others to close.
struct LetGo {
  bool called = false, with_first = false;
};

class HostileExecutor : public testing::Test {
 protected:
  std::unique_ptr<ExecutorLink> Start(const char* how) {
    const auto executor = ExecutorProcess::Start(os::Spawner::Start({Hostile(how).ProgramOf()}).value());
    auto link = executor ? ExecutorLink::Enter(*executor) : std::unexpected(executor.error());
    if (!link) ADD_FAILURE() << link.error().text;
    (*link)->LetGoBy([this](const os::Fd& first, const os::Fd& socket) {
      let_go_ = {.called = static_cast<bool>(socket), .with_first = static_cast<bool>(first)};
    });
    return std::move(*link);
  }
  // That is no answer to such a request, and the executor's end.
  void ExpectRefused(const char* how, RequestKind kind) {
    SCOPED_TRACE(how);
    let_go_ = {};
    auto link = Start(how);
    EXPECT_FALSE(link->Ask({.kind = kind}));
    EXPECT_TRUE(link->HasEnded());
    link.reset();
    EXPECT_TRUE(let_go_.called);
  }

  LetGo let_go_;
};

TEST_F(HostileExecutor, AFileThatAnAnswerComesWithIsReceivedIfItIsOne) {
  ExpectRefused("pipe", RequestKind::kLoadModule);
  EXPECT_TRUE(let_go_.with_first);
  ExpectRefused("pipe", RequestKind::kExportSlab);
  ExpectRefused("two", RequestKind::kLoadModule);
  ExpectRefused("device", RequestKind::kLoadModule);
  ExpectRefused("device", RequestKind::kExportSlab);
}

TEST_F(HostileExecutor, AnAnswerThatComesWithNoFileIsNotReceivedWithOne) {
  auto link = Start("unasked");
  const auto answer = link->Ask({.kind = RequestKind::kSetLimit});
  link.reset();
  // Since Linux 6.16 the socket takes none, so the executor has sent none.
  EXPECT_NE(answer.has_value(), let_go_.called);
  EXPECT_FALSE(answer && answer->file);
}

TEST_F(HostileExecutor, WhatComesBehindAnAnswerIsNotClosedByItsReader) {
  auto link = Start("behind");
  const auto answer = link->Ask({.kind = RequestKind::kLoadModule});
  ASSERT_TRUE(answer) << answer.error().text;
  EXPECT_TRUE(answer->file);
  const auto next = link->Ask({.kind = RequestKind::kSetLimit});  // which that is the answer to, without its file
  EXPECT_FALSE(next && next->file);
  link.reset();
  EXPECT_TRUE(next || let_go_.called);
  EXPECT_FALSE(let_go_.with_first);
}

TEST_F(HostileExecutor, WhatLiesUnreadInItsSocketIsLeftToOthers) {
  auto link = Start("pipe");
  const auto answer = link->Ask({.kind = RequestKind::kExportSlab});
  EXPECT_FALSE(answer);
  link.reset();
  EXPECT_TRUE(let_go_.called);
  let_go_ = {};
  link = Start("pipe");
  EXPECT_TRUE(link->Ask({.kind = RequestKind::kSetLimit}));
  link.reset();
  EXPECT_FALSE(let_go_.called) << "nothing does";
}

// One whose answers are no good is lost on the thread that asks, whatever the one decides that looks after its client.
TEST_F(HostileExecutor, OneThatIsLostIsNotLeftAnyMore) {
  cts::RecordingSink sink;
  CurrentExecutor current(&sink);
  const std::shared_ptr<ExecutorLink> link = Start("pipe");
  current.Expect(link);
  current.Arrive();
  EXPECT_TRUE(current.Is(link.get()));
  current.Lose(link.get(), {.code = 1, .text = "its answers are no good"});
  EXPECT_FALSE(current.Leave());
  EXPECT_FALSE(current.Ask({.kind = RequestKind::kSetLimit})) << "who asks is told, and waits for no other";
}

// As a client does whose executors are held by others' kernels, one after the other.
TEST_F(HostileExecutor, WhoAsksOneThatIsLeftAsksTheNextHoweverManyAreLeft) {
  for (const auto was : {CurrentExecutor::Was::kSound, CurrentExecutor::Was::kOver}) {
    cts::RecordingSink sink;
    CurrentExecutor current(&sink);
    const auto come = [&](const char* how) {
      const auto replacing = current.Replacing();
      current.Expect(Start(how));
      current.Arrive();
    };
    constexpr int kLeft = 3;
    std::atomic<int> asked{0};
    come("silent");
    auto answer = std::async(std::launch::async, [&] {
      return current.WithOne([&] {
        ++asked;
        return current.Ask({.kind = RequestKind::kSetLimit});
      });
    });
    for (int left = 1; left <= (was == CurrentExecutor::Was::kSound ? kLeft : 2); ++left) {
      while (asked < left && answer.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
        std::this_thread::yield();
      EXPECT_TRUE(current.Leave(was));
      come(left == kLeft ? "behind" : "silent");
    }
    EXPECT_EQ(answer.get().has_value(), was == CurrentExecutor::Was::kSound)
        << "what ends one after the other may be its own doing";
    current.Lose({.code = 1, .text = "the test is over"});
  }
}

TEST_F(HostileExecutor, ATimeThatCannotBeIsNone) {
  const auto link = Start("pipe");
  executor::Exchange& exchange = *link->exchange();
  const auto tell = [&exchange](uint64_t sequence, uint64_t time_ns) {
    exchange.times[2][sequence % executor::kMostAhead].store(time_ns);
  };
  const uint64_t now_ns = NowNs();
  tell(1, now_ns);
  EXPECT_EQ(link->TimeOf(2, 1), 0u) << "it is not done";
  exchange.streams[2].done.store(600);
  ASSERT_EQ(link->Done(2, 600), 600u);
  EXPECT_EQ(link->TimeOf(2, 1), now_ns);
  EXPECT_EQ(link->TimeOf(2, 1 + executor::kMostAhead), now_ns);
  for (const uint64_t time_ns : {uint64_t{0}, uint64_t{1}, now_ns / 2, now_ns + 3'600'000'000'000, ~uint64_t{0}}) {
    tell(600, time_ns);
    EXPECT_EQ(link->TimeOf(2, 600), 0u) << time_ns;
  }
}

// As one does that another client's kernel has ended. Whoever asks may be the only one who waits for it.
TEST_F(HostileExecutor, WhatALostContextLeavesUnansweredIsOver) {
  for (const RequestKind kind : {RequestKind::kSetLimit, RequestKind::kMapSlab}) {
    auto link = Start("loses");
    auto answer = std::async(std::launch::async, [&link, kind] { return link->Ask({.kind = kind}); });
    EXPECT_EQ(answer.wait_for(std::chrono::seconds(30)), std::future_status::ready);
    link->Kill();
    EXPECT_FALSE(answer.get());
    EXPECT_TRUE(link->FailsForAll());
    EXPECT_FALSE(link->has_lied()) << "its client goes on elsewhere";
  }
}

TEST_F(HostileExecutor, MemoryThatCannotBeWhatWasAskedForIsItsClientsFault) {
  for (const auto& [how, good] : {std::pair("small", 0), std::pair("twice", 1)}) {
    SCOPED_TRACE(how);
    const GpuSettings settings = Hostile(how);
    const auto backend = CreateGpuBackend(settings, os::Spawner::Start({settings.ProgramOf()}).value());
    ASSERT_TRUE(backend) << backend.error().text;
    cts::Client client(backend->get());
    const auto allocate = [&] { return client.space().Allocate(0, wire::MemoryKind::kDevice, 2u << 20, 0); };
    for (int i = 0; i < good; ++i) ASSERT_TRUE(allocate());
    EXPECT_FALSE(allocate());
    ASSERT_TRUE(client.sink().WaitFaults(1));
    EXPECT_FALSE(allocate());
  }
}

// Else it would have thread after thread wait, and hold descriptor after descriptor.
TEST_F(HostileExecutor, ItsClientGetsNoOtherBeforeWhatItHasSentIsClosed) {
  const GpuSettings settings = Hostile("pipe");
  const auto backend = CreateGpuBackend(settings, os::Spawner::Start({settings.ProgramOf()}).value());
  ASSERT_TRUE(backend) << backend.error().text;
  cts::Client client(backend->get());
  client.sink().HoldWhatIsLetGo();
  const uint8_t image[] = {0};
  EXPECT_FALSE(client.space().LoadModule(0, image));
  ASSERT_TRUE(client.sink().WaitFaults(1));
  client.space().Reset(0);
  EXPECT_EQ(client.sink().recoveries(), 0u);
  client.sink().CloseWhatWasLetGo();
  client.space().Reset(0);
  EXPECT_EQ(client.sink().recoveries(), 1u);
}

}  // namespace
}  // namespace tutti::device::gpu
