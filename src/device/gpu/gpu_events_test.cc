// Times of events: those at which the device got there, whenever that is found.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "device/gpu/testing/gpu_fixture.h"
#include "executor/protocol/dispatch.h"

namespace tutti::device::gpu {
namespace {

using cts::Client;

// Takes `b` nanoseconds of the device's own clock, and writes at `a` when it began and ended by that.
constexpr std::string_view kStamp = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry stamp(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d) {
  .reg .pred %goes_on;
  .reg .b64 %out, %least, %begin, %now, %passed;
  ld.param.u64 %out, [a];
  ld.param.u64 %least, [b];
  mov.u64 %begin, %globaltimer;
  st.global.u64 [%out], %begin;
again:
  mov.u64 %now, %globaltimer;
  sub.u64 %passed, %now, %begin;
  setp.lt.u64 %goes_on, %passed, %least;
  @%goes_on bra again;
  st.global.u64 [%out+8], %now;
  ret;
}
)";

constexpr int64_t kClockErrorNs = 1'000;  // of a driver's float, and of a clock that is led back

class GpuEvents : public GpuFixture {
 protected:
  struct Stamp {
    uint64_t begin, end;
  };
  static Stamp StampAt(Client& client, uint64_t address) {
    return {client.ReadValue<uint64_t>(address), client.ReadValue<uint64_t>(address + 8)};
  }
  static uint64_t Record(Client& client, uint32_t event) {
    const uint64_t ticket = client.next_ticket();
    EXPECT_TRUE(client.space().RecordEvent(1, ticket, event));
    return ticket;
  }
  // It lies between our looks at the clock before it was recorded and when it was told.
  static void ExpectOurTime(Client& client, uint32_t event) {
    const uint64_t before_ns = NowNs();
    const uint64_t ticket = Record(client, event);
    ASSERT_TRUE(client.sink().WaitDone(1, ticket));
    EXPECT_GE(client.sink().event_ns(event), before_ns);
    EXPECT_LE(client.sink().event_ns(event), NowNs());
  }
};

TEST_F(GpuEvents, WhatLiesBetweenTwoIsWhatTheDeviceTookHoweverLateTheyAreFound) {
  for (const Isolation isolation : {Isolation::kProcess, Isolation::kShared}) {
    Start({.isolation = isolation});
    const auto client = Serve("a");
    constexpr uint64_t kTakesNs = 30'000'000;
    const uint32_t stamp = client->Kernel(kStamp);
    std::vector<uint64_t> at(3);
    for (uint64_t& address : at) address = client->Allocate(16);
    Record(*client, 3);
    ASSERT_TRUE(client->Synchronize(1));
    client->Launch(1, stamp, 1, 1, {at[0], kTakesNs, 0, 0});
    Record(*client, 4);
    client->Launch(1, stamp, 1, 1, {at[1], kTakesNs, 0, 0});
    Record(*client, 5);
    client->Launch(1, stamp, 1, 1, {at[2], kTakesNs, 0, 0});
    AwaitGiven(*client);
    StopProcess(Executors().front());
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    kill(Executors().front(), SIGCONT);
    ASSERT_TRUE(client->Synchronize(1));
    const auto taken_ns = static_cast<int64_t>(client->sink().event_ns(5) - client->sink().event_ns(4));
    const Stamp first = StampAt(*client, at[0]), second = StampAt(*client, at[1]), third = StampAt(*client, at[2]);
    EXPECT_GE(taken_ns, static_cast<int64_t>(second.end - second.begin) - kClockErrorNs);
    EXPECT_LE(taken_ns, static_cast<int64_t>(third.begin - first.end) + kClockErrorNs);
  }
}

TEST_F(GpuEvents, TheirTimesAreOfOneClockThoughTheExecutorIsAnotherOne) {
  Start({});
  const auto client = Serve();
  ExpectOurTime(*client, 3);
  const pid_t executor = Executors().front();
  kill(executor, SIGKILL);
  ASSERT_TRUE(Becomes([&] { return Executors().empty() || Executors().front() != executor; }));
  ExpectOurTime(*client, 4);
  EXPECT_TRUE(client->sink().faults().empty());
}

TEST_F(GpuEvents, OneThatWasUnderWayAsItsExecutorEndedHasTheTimeOfTheNext) {
  Start({});
  const auto client = Serve();
  ExpectOurTime(*client, 3);
  const pid_t executor = Executors().front();
  StopProcess(executor);
  const uint64_t before_ns = NowNs();
  const uint64_t ticket = Record(*client, 4);
  const uint64_t wait = client->next_ticket();
  client->CreateStream(2);
  ASSERT_TRUE(client->space().Wait(2, wait, 1, ticket));
  kill(executor, SIGKILL);
  EXPECT_TRUE(client->sink().WaitDone(1, ticket));
  EXPECT_TRUE(client->sink().WaitDone(2, wait));
  EXPECT_GE(client->sink().event_ns(4), before_ns);
  EXPECT_LE(client->sink().event_ns(4), NowNs());
  EXPECT_TRUE(client->sink().faults().empty());
}

TEST_F(GpuEvents, AStreamMayHaveMoreOfThemThanTheDriverIsGivenAtOnce) {
  Start({});
  const auto client = Serve();
  constexpr uint32_t kEvents = 3 * executor::kMostAhead;
  const uint64_t word = Spin(*client);
  for (uint32_t event = 1; event <= kEvents; ++event) Record(*client, event);
  EndSpin(*client, word);
  ASSERT_TRUE(client->Synchronize(1));
  for (uint32_t event = 2; event <= kEvents; ++event) {
    ASSERT_LE(client->sink().event_ns(event - 1), client->sink().event_ns(event) + kClockErrorNs) << event;
  }
}

// It is in nobody's executor.
TEST_F(GpuEvents, TheWordsOfOneThatProcessesShareAreWrittenThoughAllExecutorsEnd) {
  Start({});
  const auto giver = Serve(), taker = Serve();
  const uint64_t words = giver->space().Allocate(0, wire::MemoryKind::kScratch, 4096, 4096).value();
  const auto shared = giver->space().Share(words, Space::AtEnd::kLargest).value();
  const uint64_t at = taker->space().Reserve(0, 4096, 4096, 0).value();
  ASSERT_TRUE(taker->space().Map(at, shared, true));
  const std::vector<pid_t> executors = Executors();
  for (const pid_t executor : executors) StopProcess(executor);
  Record(*taker, 3);
  const uint64_t write = taker->next_ticket();
  ASSERT_TRUE(taker->space().Fill(
      1, write, {.destination = at + 8, .width = 1, .height = 1, .pitch = 8, .value = 9, .element_bytes = 8}));
  EXPECT_EQ(giver->space().Word(words + 8, 8, 0).value(), 0u) << "what is before it is not done";
  for (const pid_t executor : executors) kill(executor, SIGKILL);
  ASSERT_TRUE(taker->sink().WaitDone(1, write));
  EXPECT_EQ(giver->space().Word(words + 8, 8, 0).value(), 9u);
  EXPECT_EQ(taker->space().Word(at + 8, 8, 1).value(), 9u);
  EXPECT_EQ(giver->space().Word(words + 8, 8, 0).value(), 10u);
  ASSERT_TRUE(giver->space().Free(words));
  EXPECT_TRUE(Becomes([&] { return taker->space().Word(at + 8, 8, 0).value() == uint64_t{INT64_MAX}; }));
  for (const auto* const client : {&giver, &taker}) EXPECT_TRUE((*client)->sink().faults().empty());
}

// Another stream waits for it, and for nothing behind it, there as well.
TEST_F(GpuEvents, OneThatProcessesShareIsAPointOfItsStreamInTheNextExecutor) {
  Start({});
  const auto giver = Serve(), taker = Serve();
  const uint64_t words = giver->space().Allocate(0, wire::MemoryKind::kScratch, 4096, 4096).value();
  const auto shared = giver->space().Share(words, Space::AtEnd::kLargest).value();
  const uint64_t at = taker->space().Reserve(0, 4096, 4096, 0).value();
  ASSERT_TRUE(taker->space().Map(at, shared, true));
  const uint64_t word = taker->Allocate(sizeof(uint64_t)), counter = taker->Allocate(sizeof(uint64_t));
  const uint32_t add = taker->Kernel(cts::kAdd), await = taker->Kernel(cts::kAwait);
  taker->CreateStream(2);
  const std::vector<pid_t> executors = Executors();
  for (const pid_t executor : executors) StopProcess(executor);
  taker->Launch(1, add, 1, 1, {counter, 1, 0, 0});
  const uint64_t write = taker->next_ticket();
  ASSERT_TRUE(taker->space().Fill(
      1, write, {.destination = at + 8, .width = 1, .height = 1, .pitch = 8, .value = 9, .element_bytes = 8}));
  taker->Launch(1, await, 1, 1, {word, 0, 0, 0});
  ASSERT_TRUE(taker->space().Wait(2, taker->next_ticket(), 1, write));
  taker->Launch(2, add, 1, 1, {word, 1, 0, 0});
  for (const pid_t executor : executors) kill(executor, SIGKILL);
  EXPECT_TRUE(taker->Synchronize(2));
  EXPECT_TRUE(taker->Synchronize(1));
  EXPECT_EQ(giver->space().Word(words + 8, 8, 0).value(), 9u);
  EXPECT_TRUE(taker->sink().faults().empty());
}

}  // namespace
}  // namespace tutti::device::gpu
