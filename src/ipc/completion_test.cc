// Waiting in the client for completions and replies, with a thread in the server's place.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ipc/completion_waiter.h"
#include "ipc/reply_slots.h"
#include "ipc/ring_consumer.h"
#include "ipc/testing/channel_test.h"
#include "os/futex.h"
#include "wire/record.h"

namespace tutti::ipc {
namespace {

class CompletionTest : public ChannelTest {
 protected:
  CompletionTest()
      : waiter_(channel_, completions_.get(), &producer_, &watch_), replies_(channel_, &producer_, &watch_) {}

  // As the server does it.
  void Complete(uint32_t stream, uint64_t ticket) {
    auto& sleepers = channel_->sleepers[stream];
    completions_->streams[stream].completed.store(ticket + 1, std::memory_order_seq_cst);
    if (!sleepers.TakeSleepers(ticket + 1)) return;
    ++wakes_;
    os::FutexWake(&sleepers.wake);
  }

  const std::unique_ptr<wire::Completions> completions_ = std::make_unique<wire::Completions>();
  uint64_t wakes_ = 0;
  CompletionWaiter waiter_;
  ReplySlots replies_;
};

TEST_F(CompletionTest, DoneMeansThisTicketAndAllBefore) {
  Complete(3, 10);
  EXPECT_TRUE(waiter_.Done(3, 10));
  EXPECT_TRUE(waiter_.Done(3, 2));
  EXPECT_FALSE(waiter_.Done(3, 11));
  EXPECT_FALSE(waiter_.Done(4, 2));
}

TEST_F(CompletionTest, NoSleeperMissesItsWake) {
  constexpr uint64_t kTickets = 3000;
  std::vector<std::thread> sleepers;
  for (int i = 0; i < 3; ++i) {
    sleepers.emplace_back([&] {
      for (uint64_t ticket = 0; ticket < kTickets; ++ticket) ASSERT_EQ(waiter_.Wait(1, ticket), 0);
    });
  }
  for (uint64_t ticket = 0; ticket < kTickets; ++ticket) {
    Complete(1, ticket);
    // Long enough now and then for the waiters to have gone to sleep.
    if (ticket % 64 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  for (auto& sleeper : sleepers) sleeper.join();
  // Who has overslept rings the bell. A machine that stalls makes that happen now and then, a missed wake each time.
  uint64_t overslept = 0;
  [[maybe_unused]] const auto got = read(bell_.get(), &overslept, sizeof overslept);
  EXPECT_LT(overslept, kTickets / 4);
}

TEST_F(CompletionTest, WhatFinishesBeforeIsNoReasonToWake) {
  constexpr uint64_t kTickets = 50;
  std::thread sleeper([&] { EXPECT_EQ(waiter_.Wait(1, kTickets - 1), 0); });
  while (channel_->sleepers[1].awaited.load() != kTickets) std::this_thread::yield();
  for (uint64_t ticket = 0; ticket < kTickets; ++ticket) Complete(1, ticket);
  sleeper.join();
  EXPECT_EQ(wakes_, 1u);
}

TEST_F(CompletionTest, WhoWaitsForLessIsWokenFirst) {
  std::thread later([&] { EXPECT_EQ(waiter_.Wait(1, 9), 0); });
  while (channel_->sleepers[1].awaited.load() != 10) std::this_thread::yield();
  std::thread sooner([&] { EXPECT_EQ(waiter_.Wait(1, 4), 0); });
  while (channel_->sleepers[1].awaited.load() != 5) std::this_thread::yield();
  Complete(1, 4);
  sooner.join();
  while (channel_->sleepers[1].awaited.load() != 10) std::this_thread::yield();
  Complete(1, 9);
  later.join();
  EXPECT_EQ(wakes_, 2u);
}

TEST_F(CompletionTest, WaiterLearnsThatTheSessionHasEnded) {
  channel_->header.ended = 810;
  EXPECT_EQ(waiter_.Wait(1, 5), 810);
}

TEST_F(CompletionTest, WaiterLearnsThatTheServerHasDied) {
  sockets_.second.Reset();
  EXPECT_EQ(waiter_.Wait(1, 5), 806);
}

TEST_F(CompletionTest, RepliesReachTheirCallers) {
  constexpr uint64_t kCalls = 4000;
  constexpr uint64_t kThreads = 4;
  std::thread server([&] {
    RingConsumer consumer(channel_);
    for (uint64_t answered = 0; answered < kCalls * kThreads;) {
      const auto record = consumer.Next().value();
      if (!record) {
        std::this_thread::yield();
        continue;
      }
      ++answered;
      const wire::RawRecord& raw = record->Unchecked();
      wire::ReplySlot& slot = channel_->replies[raw.reply];
      slot.status = 7;
      slot.value[0] = raw.body<wire::AllocateBody>().bytes * 2;
      const auto done = static_cast<uint32_t>(wire::ReplyState::kDone);
      if (slot.state.exchange(done) == static_cast<uint32_t>(wire::ReplyState::kPendingAsleep))
        os::FutexWake(&slot.state);
    }
  });
  std::vector<std::thread> callers;
  for (uint64_t t = 0; t < kThreads; ++t) {
    callers.emplace_back([&, t] {
      for (uint64_t i = 0; i < kCalls; ++i) {
        const uint64_t question = t << 32 | i;
        const Reply reply = replies_.Call(wire::RecordKind::kAllocate, wire::AllocateBody{.bytes = question});
        ASSERT_EQ(reply.status, 7);
        ASSERT_EQ(reply.value[0], question * 2);
      }
    });
  }
  for (auto& caller : callers) caller.join();
  server.join();
}

// R, S, ...: of a thread of this process.
char StateOf(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string stat;
  std::getline(file, stat);
  const size_t name_end = stat.rfind(')');
  return name_end == std::string::npos || name_end + 2 >= stat.size() ? '?' : stat[name_end + 2];
}

// Its server may have been stopped: then it would use up a core for as long.
TEST_F(CompletionTest, OneThatFindsAllSlotsInUseSleepsUntilOneIsFree) {
  RingConsumer consumer(channel_);
  const auto next_slot = [&] {
    for (;;) {
      if (const auto record = consumer.Next().value()) return record->Unchecked().reply;
      std::this_thread::yield();
    }
  };
  const auto answer = [&](uint16_t index) {
    wire::ReplySlot& slot = channel_->replies[index];
    if (slot.state.exchange(static_cast<uint32_t>(wire::ReplyState::kDone)) ==
        static_cast<uint32_t>(wire::ReplyState::kPendingAsleep))
      os::FutexWake(&slot.state);
  };
  const auto call = [&] { EXPECT_EQ(replies_.Call(wire::RecordKind::kAllocate, wire::AllocateBody{}).status, 0); };
  std::thread first(call);
  const uint16_t slot = next_slot();
  for (uint16_t other = 0; other < wire::kReplySlots; ++other) {
    if (other != slot) channel_->replies[other].state = static_cast<uint32_t>(wire::ReplyState::kPending);
  }
  std::atomic<pid_t> thread{0};
  std::thread second([&] {
    thread = gettid();
    call();
  });
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while ((thread == 0 || StateOf(thread) != 'S') && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  EXPECT_EQ(StateOf(thread), 'S');
  answer(slot);
  first.join();
  EXPECT_EQ(next_slot(), slot);
  answer(slot);
  second.join();
}

TEST_F(CompletionTest, OneThatFindsAllSlotsInUseLearnsThatTheServerHasDied) {
  for (wire::ReplySlot& slot : channel_->replies) slot.state = static_cast<uint32_t>(wire::ReplyState::kPending);
  std::thread caller([&] { EXPECT_EQ(replies_.Call(wire::RecordKind::kAllocate, wire::AllocateBody{}).status, 806); });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  sockets_.second.Reset();
  caller.join();
}

TEST_F(CompletionTest, CallerLearnsThatTheSessionHasEnded) {
  std::thread ender([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    channel_->header.ended = 810;
  });
  EXPECT_EQ(replies_.Call(wire::RecordKind::kAllocate, wire::AllocateBody{}).status, 810);
  ender.join();
}

}  // namespace
}  // namespace tutti::ipc
