// Streams: order, waits, the legacy stream, host calls, events, and how they end.
#include "device/cts/conformance.h"
#include "device/cts/images.h"
#include "wire/backlog.h"

namespace tutti::device::cts {
namespace {

// Holds a stream until Open, by a host call.
class Gate {
 public:
  Gate(Client* client, uint32_t stream) : client_(client), stream_(stream), calls_(client->sink().host_calls().size()) {
    ticket_ = client->next_ticket();
    EXPECT_TRUE(client->space().HostCall(stream, ticket_, kToken));
  }
  void Open() {
    EXPECT_TRUE(client_->sink().WaitHostCalls(calls_ + 1));
    EXPECT_TRUE(client_->space().HostCallDone(stream_, kToken));
  }
  uint64_t ticket() const { return ticket_; }

  static constexpr uint64_t kToken = 77;

 private:
  Client* const client_;
  const uint32_t stream_;
  const size_t calls_;
  uint64_t ticket_;
};

TEST_F(Conformance, StreamNumbersAreCheckedAndMakeProtocolErrors) {
  Client client(backend_.get());
  client.CreateStream(5);
  EXPECT_FALSE(client.space().CreateStream(5, {}));
  EXPECT_FALSE(client.space().CreateStream(0, {}));
  EXPECT_FALSE(client.space().CreateStream(wire::kMaxStreams, {}));
  EXPECT_FALSE(client.space().Mark(6, 0));
  EXPECT_FALSE(client.space().DestroyStream(6));
  EXPECT_TRUE(client.space().DestroyStream(5));
  EXPECT_FALSE(client.space().Mark(5, 0));
  client.CreateStream(5);
}

TEST_F(Conformance, AHostCallHoldsItsStreamAndNoOther) {
  Client client(backend_.get());
  client.CreateStream(1);
  client.CreateStream(2);
  Gate gate(&client, 1);
  const uint64_t behind = client.Mark(1);
  EXPECT_TRUE(client.Synchronize(2));
  EXPECT_FALSE(client.sink().IsDone(1, behind));
  gate.Open();
  EXPECT_TRUE(client.sink().WaitDone(1, behind));
  EXPECT_EQ(client.sink().host_calls()[0].token, Gate::kToken);
  EXPECT_EQ(client.sink().host_calls()[0].status, 0);
}

TEST_F(Conformance, AnUnaskedForHostCallDoneIsIgnored) {
  Client client(backend_.get());
  client.CreateStream(1);
  EXPECT_TRUE(client.space().HostCallDone(1, 1));
  EXPECT_TRUE(client.space().HostCallDone(4000, 1));
  EXPECT_TRUE(client.Synchronize(1));
}

TEST_F(Conformance, AWaitHoldsUntilTheOtherStreamHasPassedTheTicket) {
  Client client(backend_.get());
  client.CreateStream(1);
  client.CreateStream(2);
  Gate gate(&client, 1);
  ASSERT_TRUE(client.space().Wait(2, client.next_ticket(), 1, gate.ticket()));
  const uint64_t behind = client.Mark(2);
  EXPECT_FALSE(client.sink().IsDone(2, behind));
  gate.Open();
  EXPECT_TRUE(client.sink().WaitDone(2, behind));
}

TEST_F(Conformance, AWaitForWhatIsNotThereIsNoWait) {
  Client client(backend_.get());
  client.CreateStream(1);
  client.CreateStream(2);
  ASSERT_TRUE(client.space().Wait(1, client.next_ticket(), 2, ~0ull));  // a ticket of the future
  ASSERT_TRUE(client.space().Wait(1, client.next_ticket(), 1, ~0ull));  // itself
  ASSERT_TRUE(client.space().Wait(1, client.next_ticket(), 4000, 0));   // no stream
  ASSERT_TRUE(client.space().Wait(2, client.next_ticket(), 1, ~0ull));
  EXPECT_TRUE(client.Synchronize(1));
  EXPECT_TRUE(client.Synchronize(2));
}

// Of two streams, the first of which a kernel holds until the other has added to `word`.
struct Held {
  explicit Held(Backend* backend) : client(backend) {
    client.CreateStream(1);
    client.CreateStream(2);
    word = client.Allocate(sizeof(uint64_t));
    count = client.Allocate(sizeof(uint64_t));
    await = client.Kernel(kAwait);
    add = client.Kernel(kAdd);
  }
  void Hold() { held = client.Launch(1, await, 1, 1, {word, 0, 0, 0}); }
  void ExpectThatTheOtherOpensIt() {
    EXPECT_FALSE(client.sink().IsDone(1, held));
    client.Launch(2, add, 1, 1, {word, 1, 0, 0});
    EXPECT_TRUE(client.Synchronize(1));
    EXPECT_TRUE(client.Synchronize(2));
  }

  Client client;
  uint64_t word = 0, count = 0, held = 0;
  uint32_t await = 0, add = 0;
};

TEST_F(Conformance, AStreamThatHoldsMuchHoldsUpNoOther) {
  Held streams(backend_.get());
  streams.Hold();
  constexpr uint64_t kLaunches = 5000;
  for (uint64_t i = 0; i < kLaunches; ++i) streams.client.Launch(1, streams.add, 1, 1, {streams.count, 1, 0, 0});
  streams.ExpectThatTheOtherOpensIt();
  EXPECT_EQ(streams.client.ReadValue<uint64_t>(streams.count), kLaunches);
}

TEST_F(Conformance, AWaitIsForWhatCameBeforeAnEventAndForNothingBehindIt) {
  Held streams(backend_.get());
  constexpr uint64_t kLaunches = 100;
  for (uint64_t i = 0; i < kLaunches; ++i) streams.client.Launch(1, streams.add, 1, 1, {streams.count, 1, 0, 0});
  const uint64_t event = streams.client.next_ticket();
  ASSERT_TRUE(streams.client.space().RecordEvent(1, event, 0));
  streams.Hold();
  ASSERT_TRUE(streams.client.space().Wait(2, streams.client.next_ticket(), 1, event));
  streams.ExpectThatTheOtherOpensIt();
  EXPECT_EQ(streams.client.ReadValue<uint64_t>(streams.count), kLaunches);
}

TEST_F(Conformance, TheLegacyStreamWaitsForBlockingStreamsAndTheyForIt) {
  Client client(backend_.get());
  client.CreateStream(1, {.legacy = true});
  client.CreateStream(2, {});
  client.CreateStream(3, {});
  client.CreateStream(4, {.non_blocking = true});
  client.CreateStream(5, {.context = 9});
  Gate gate(&client, 2);
  const uint64_t beside = client.Mark(3);
  const uint64_t legacy = client.Mark(1);
  const uint64_t after = client.Mark(3);
  EXPECT_TRUE(client.sink().WaitDone(3, beside)) << "blocking streams do not wait for each other";
  EXPECT_TRUE(client.Synchronize(4)) << "non-blocking streams take no part";
  EXPECT_TRUE(client.Synchronize(5)) << "nor do those of other contexts";
  EXPECT_FALSE(client.sink().IsDone(1, legacy));
  EXPECT_FALSE(client.sink().IsDone(3, after));
  gate.Open();
  EXPECT_TRUE(client.sink().WaitDone(1, legacy));
  EXPECT_TRUE(client.sink().WaitDone(3, after));
}

TEST_F(Conformance, BlockingStreamsWaitForTheLegacyStream) {
  Client client(backend_.get());
  client.CreateStream(1, {.legacy = true});
  client.CreateStream(2, {});
  Gate gate(&client, 1);
  const uint64_t behind = client.Mark(2);
  EXPECT_FALSE(client.sink().IsDone(2, behind));
  gate.Open();
  EXPECT_TRUE(client.sink().WaitDone(2, behind));
  for (int round = 0; round < 100; ++round) {
    client.Mark(1);
    client.Mark(2);
  }
  EXPECT_TRUE(client.Synchronize(2));
}

TEST_F(Conformance, EventsGetATimeAndEventZeroNone) {
  Client client(backend_.get());
  client.CreateStream(1);
  ASSERT_TRUE(client.space().RecordEvent(1, client.next_ticket(), 3));
  ASSERT_TRUE(client.space().RecordEvent(1, client.next_ticket(), 4));
  ASSERT_TRUE(client.space().RecordEvent(1, client.next_ticket(), 0));
  ASSERT_TRUE(client.Synchronize(1));
  EXPECT_NE(client.sink().event_ns(3), 0u);
  EXPECT_LE(client.sink().event_ns(3), client.sink().event_ns(4));
  EXPECT_EQ(client.sink().event_ns(0), 0u);
}

TEST_F(Conformance, ADestroyedStreamFinishesItsWork) {
  Client client(backend_.get());
  client.CreateStream(1);
  Gate gate(&client, 1);
  const uint64_t behind = client.Mark(1);
  ASSERT_TRUE(client.space().DestroyStream(1));
  EXPECT_FALSE(client.space().Mark(1, client.next_ticket()));
  gate.Open();
  EXPECT_TRUE(client.sink().WaitDone(1, behind));
}

TEST_F(Conformance, AllStreamsCanBeUsedAtOnce) {
  Client client(backend_.get());
  constexpr uint32_t kDepth = 4;
  for (uint32_t stream = 1; stream < wire::kMaxStreams; ++stream) client.CreateStream(stream);
  Gate gate(&client, 1);
  for (uint32_t i = 0; i < kDepth; ++i) {
    for (uint32_t stream = 2; stream < wire::kMaxStreams; ++stream) {
      ASSERT_TRUE(client.space().Wait(stream, client.next_ticket(), stream - 1, gate.ticket() + i * wire::kMaxStreams));
      client.Mark(stream);
    }
  }
  gate.Open();
  EXPECT_TRUE(client.Synchronize(wire::kMaxStreams - 1));
  for (uint32_t stream = 1; stream < wire::kMaxStreams; ++stream) ASSERT_TRUE(client.Synchronize(stream));
  EXPECT_FALSE(client.sink().went_backwards());
}

TEST_F(Conformance, ASpaceMayGoWithWorkInItsStreams) {
  Client client(backend_.get());
  client.CreateStream(1, {.legacy = true});
  client.CreateStream(2, {});
  Gate gate(&client, 1);
  for (int i = 0; i < 100; ++i) {
    client.Mark(2);
    client.Mark(1);
  }
  client.Destroy();
}

TEST_F(Conformance, ResetDropsWhatIsQueued) {
  Client client(backend_.get());
  client.CreateStream(1);
  Gate gate(&client, 1);
  const uint64_t behind = client.Mark(1);
  ASSERT_TRUE(client.sink().WaitHostCalls(1));
  client.space().Reset(0);
  EXPECT_TRUE(client.sink().WaitDone(1, behind));
  EXPECT_TRUE(client.space().HostCallDone(1, Gate::kToken)) << "a late answer is ignored";
  EXPECT_TRUE(client.Synchronize(1));
  EXPECT_TRUE(client.sink().faults().empty());
}

TEST_F(Conformance, ALateAnswerDoesNotEndTheHostCallThatWaitsNow) {
  Client client(backend_.get());
  client.CreateStream(1);
  const uint64_t late = Gate::kToken + 1;
  ASSERT_TRUE(client.space().HostCall(1, client.next_ticket(), late));
  ASSERT_TRUE(client.sink().WaitHostCalls(1));
  client.space().Reset(0);
  Gate gate(&client, 1);
  const uint64_t behind = client.Mark(1);
  ASSERT_TRUE(client.sink().WaitHostCalls(2));
  EXPECT_TRUE(client.space().HostCallDone(1, late));
  EXPECT_FALSE(client.sink().IsDone(1, behind));
  gate.Open();
  EXPECT_TRUE(client.sink().WaitDone(1, behind));
}

TEST_F(Conformance, WhatMayWaitIsBounded) {
  Client client(backend_.get());
  client.CreateStream(1);
  client.CreateStream(2);
  Gate gate(&client, 1);
  for (uint32_t i = 1; i < wire::kMostBacklog; ++i) ASSERT_TRUE(client.space().Mark(1, client.next_ticket()));
  EXPECT_FALSE(client.space().Mark(1, client.next_ticket()));
  EXPECT_FALSE(client.space().Mark(2, client.next_ticket()));
  gate.Open();
  EXPECT_TRUE(client.Synchronize(1)) << "what is done does not count";
  EXPECT_TRUE(client.Synchronize(2));
}

}  // namespace
}  // namespace tutti::device::cts
