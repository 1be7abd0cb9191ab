// The two ends of the ring against each other: in one process, across threads, across processes, and against a peer
// that lies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <chrono>
#include <map>
#include <numeric>
#include <thread>

#include "ipc/ring_consumer.h"
#include "ipc/ring_producer.h"
#include "ipc/testing/channel_test.h"
#include "os/futex.h"
#include "os/memory.h"
#include "os/socket.h"
#include "wire/validate.h"

namespace tutti::ipc {
namespace {

using wire::RecordKind;

struct Payload {
  uint64_t thread;
  uint64_t count;
};

class RingTest : public ChannelTest {
 protected:
  RingTest() : consumer_(channel_) {}

  uint64_t BellsRung() {
    uint64_t count = 0;
    return read(bell_.get(), &count, sizeof count) == sizeof count ? count : 0;
  }

  void SetBell(wire::Doorbell state) { channel_->header.doorbell = static_cast<uint32_t>(state); }

  // Takes the next record; waits for it.
  wire::RawRecord Take() {
    for (;;) {
      auto record = consumer_.Next();
      EXPECT_TRUE(record.has_value()) << record.error().text;
      if (!record || *record) return record ? (*record)->Unchecked() : wire::RawRecord{};
      std::this_thread::yield();
    }
  }

  RingConsumer consumer_;
};

std::vector<uint8_t> Bytes(size_t count, uint8_t first) {
  std::vector<uint8_t> bytes(count);
  std::iota(bytes.begin(), bytes.end(), first);
  return bytes;
}

TEST_F(RingTest, EmptyRingYieldsNothing) {
  EXPECT_FALSE(consumer_.Peek());
  EXPECT_FALSE(consumer_.Next().value().has_value());
}

TEST_F(RingTest, RecordArrivesAsItWasSubmitted) {
  const uint64_t ticket =
      producer_.Submit(RecordKind::kWait, 7, wire::WaitBody{.stream = 3, .ticket = 99}, {}, WaitHint::kLater, 5);
  EXPECT_TRUE(consumer_.Peek());
  const auto record = Take();
  EXPECT_EQ(record.ticket, ticket);
  EXPECT_EQ(record.kind, RecordKind::kWait);
  EXPECT_EQ(record.stream, 7u);
  EXPECT_EQ(record.reply, 5u);
  EXPECT_EQ(record.body<wire::WaitBody>().ticket, 99u);
  EXPECT_FALSE(consumer_.Peek());
}

TEST_F(RingTest, ArgumentsOfEveryLengthSurviveManyLapsOfTheRing) {
  const size_t most = wire::kInlineArgumentBytes;
  for (size_t round = 0; round < 3 * wire::kRingSlots; ++round) {
    const auto arguments = Bytes(round * 7 % (most + 1), static_cast<uint8_t>(round));
    const wire::LaunchBody body{.argument_bytes = static_cast<uint32_t>(arguments.size())};
    producer_.Submit(RecordKind::kLaunch, 1, body, arguments);
    const auto record = Take();
    const auto got = record.bytes.subspan(sizeof body, arguments.size());
    ASSERT_TRUE(std::equal(got.begin(), got.end(), arguments.begin())) << round;
  }
}

TEST_F(RingTest, TicketCountsSlots) {
  EXPECT_EQ(producer_.Submit(RecordKind::kLaunch, 1, wire::LaunchBody{},
                             Bytes(wire::kBodyBytes - wire::kLaunchFixedBytes, 0)),
            0u);
  EXPECT_EQ(producer_.Submit(RecordKind::kLaunch, 1, wire::LaunchBody{},
                             Bytes(wire::kBodyBytes - wire::kLaunchFixedBytes + 1, 0)),
            1u);
  EXPECT_EQ(producer_.Submit(RecordKind::kMarker, 1), 3u);
}

TEST_F(RingTest, WatchedRingIsNotRung) {
  SetBell(wire::Doorbell::kWatched);
  producer_.Submit(RecordKind::kMarker, 1, WaitHint::kNow);
  EXPECT_EQ(BellsRung(), 0u);
}

TEST_F(RingTest, LingeringRingIsRungOnlyByWhoWaits) {
  SetBell(wire::Doorbell::kLingering);
  producer_.Submit(RecordKind::kMarker, 1, WaitHint::kLater);
  EXPECT_EQ(BellsRung(), 0u);
  producer_.Submit(RecordKind::kMarker, 1, WaitHint::kNow);
  EXPECT_EQ(BellsRung(), 1u);
}

TEST_F(RingTest, ArmedRingIsRungOnceForManyRecords) {
  SetBell(wire::Doorbell::kArmed);
  for (int i = 0; i < 100; ++i) producer_.Submit(RecordKind::kMarker, 1);
  EXPECT_EQ(BellsRung(), 1u);
}

TEST_F(RingTest, NudgeRingsForARecordThatDidNot) {
  SetBell(wire::Doorbell::kLingering);
  producer_.Submit(RecordKind::kMarker, 1);
  producer_.Nudge();
  EXPECT_EQ(BellsRung(), 1u);
}

TEST_F(RingTest, FullRingHoldsProducersBackUntilSlotsAreReleased) {
  constexpr uint32_t kRecords = 4 * wire::kRingSlots;
  std::thread producer([&] {
    for (uint32_t i = 0; i < kRecords; ++i) producer_.Submit(RecordKind::kMarker, 1 + i % 100);
  });
  while (channel_->header.space_sleepers.load() == 0) std::this_thread::yield();
  EXPECT_LE(channel_->header.tail.load(), wire::kRingSlots + 1);
  for (uint32_t i = 0; i < kRecords; ++i) ASSERT_EQ(Take().stream, 1 + i % 100);
  producer.join();
}

TEST_F(RingTest, ReleasingSlotsWakesWhoWaitsForRoom) {
  producer_.Submit(RecordKind::kMarker, 1);
  Take();
  auto& header = channel_->header;
  const uint32_t before = header.space_wake.load();
  bool woken = false;
  std::thread sleeper([&] {
    header.space_sleepers.fetch_add(1);
    woken = os::FutexWait(&header.space_wake, before, 20'000'000'000);
  });
  while (header.space_sleepers.load() == 0) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // most likely it sleeps by now
  consumer_.ReleaseSlots();
  sleeper.join();
  EXPECT_TRUE(woken);
}

TEST_F(RingTest, ProducerOfAnEndedSessionIsNotHeldByAFullRing) {
  channel_->header.ended = 810;
  for (uint32_t i = 0; i < 2 * wire::kRingSlots; ++i) producer_.Submit(RecordKind::kMarker, 1);
  SUCCEED();
}

TEST_F(RingTest, ProducerOfADeadServerIsNotHeldByAFullRing) {
  sockets_.second.Reset();
  for (uint32_t i = 0; i < wire::kRingSlots + 2; ++i) producer_.Submit(RecordKind::kMarker, 1);
  EXPECT_EQ(watch_.ended(), 806);
}

TEST_F(RingTest, ManyThreadsKeepTheirOrderAndLoseNothing) {
  constexpr uint64_t kThreads = 6;
  constexpr uint64_t kEach = 20'000;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < kEach; ++i) {
        const auto trailing = Bytes((i * 13 + t) % 600, static_cast<uint8_t>(i));
        producer_.Submit(RecordKind::kLaunch, 1, Payload{t, i}, trailing);
      }
    });
  }
  std::map<uint64_t, uint64_t> next;
  for (uint64_t i = 0; i < kThreads * kEach; ++i) {
    const auto record = Take();
    const auto payload = record.body<Payload>();
    ASSERT_LT(payload.thread, kThreads);
    ASSERT_EQ(payload.count, next[payload.thread]++);
    const size_t length = (payload.count * 13 + payload.thread) % 600;
    if (length != 0) {
      ASSERT_EQ(record.bytes[sizeof payload + length - 1], static_cast<uint8_t>(payload.count + length - 1));
    }
  }
  for (auto& thread : threads) thread.join();
  EXPECT_FALSE(consumer_.Peek());
}

TEST_F(RingTest, ConsumerThatSleepsIsAlwaysWoken) {
  constexpr uint64_t kEach = 30'000;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < kEach; ++i) producer_.Submit(RecordKind::kMarker, 1, Payload{t, i});
    });
  }
  pollfd sleep{bell_.get(), POLLIN, 0};
  for (uint64_t taken = 0; taken < 3 * kEach;) {
    if (auto record = consumer_.Next(); record.value()) {
      ++taken;
      continue;
    }
    consumer_.ReleaseSlots();
    channel_->header.doorbell.store(static_cast<uint32_t>(wire::Doorbell::kArmed), std::memory_order_seq_cst);
    if (consumer_.Peek()) continue;
    ASSERT_EQ(poll(&sleep, 1, 10'000), 1) << "a record was published and nobody rang, after " << taken;
    BellsRung();
  }
  for (auto& thread : threads) thread.join();
}

TEST_F(RingTest, AnotherProcessProduces) {
  constexpr uint64_t kRecords = 50'000;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (uint64_t i = 0; i < kRecords; ++i) producer_.Submit(RecordKind::kMarker, 1, Payload{0, i});
    _exit(0);
  }
  for (uint64_t i = 0; i < kRecords; ++i) ASSERT_EQ(Take().body<Payload>().count, i);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// --- a client that lies

TEST_F(RingTest, RecordOfNoSlotsOrTooManyEndsTheRing) {
  for (const int slots : {0, 37, 255}) {
    wire::Slot& slot = channel_->ring[0];
    slot.head.slots = static_cast<uint8_t>(slots);
    slot.head.published = 1;
    EXPECT_FALSE(consumer_.Next().has_value()) << slots;
  }
}

TEST_F(RingTest, SlotReservedAndNeverPublishedIsNothing) {
  channel_->header.tail.fetch_add(3);
  EXPECT_FALSE(consumer_.Next().value().has_value());
}

TEST_F(RingTest, ConsumerIgnoresHeadAndTailTheClientWrites) {
  producer_.Submit(RecordKind::kMarker, 1);
  channel_->header.tail = ~0ull;
  channel_->header.head = ~0ull;
  EXPECT_EQ(Take().ticket, 0u);
  EXPECT_FALSE(consumer_.Next().value().has_value());
}

TEST_F(RingTest, RecordIsACopyThatTheClientCannotChange) {
  producer_.Submit(RecordKind::kFree, 1, wire::FreeBody{.address = 0x1234});
  const auto record = Take();
  std::memset(static_cast<void*>(channel_->ring), 0xff, sizeof channel_->ring);
  EXPECT_EQ(record.body<wire::FreeBody>().address, 0x1234u);
}

}  // namespace
}  // namespace tutti::ipc
