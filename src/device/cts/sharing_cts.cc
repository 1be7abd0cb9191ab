// Memory at several addresses, and of several Spaces.
#include <unistd.h>

#include <chrono>
#include <thread>

#include "cuda/result.h"
#include "device/cts/conformance.h"

namespace tutti::device::cts {
namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kPiece = 2 * kMiB;  // what every backend can share and map by itself
using AtEnd = Space::AtEnd;

// Whether it comes to hold, within a minute.
template <typename Condition>
bool Comes(Condition condition) {
  constexpr int kLooks = 60'000;
  for (int look = 0; look < kLooks && !condition(); ++look) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return condition();
}

// A page of counters, as an event of several processes has them, at `words` of the giver's and `at` of the taker's.
struct SharedCounters {
  explicit SharedCounters(Backend* backend) : giver(backend), taker(backend) {}
  Status Share() {
    TUTTI_ASSIGN(words, giver.space().Allocate(0, wire::MemoryKind::kScratch, 4096, 4096));
    TUTTI_ASSIGN(shared, giver.space().Share(words, AtEnd::kLargest));
    TUTTI_ASSIGN(at, taker.space().Reserve(0, 4096, 4096, 0));
    return taker.space().Map(at, shared, true);
  }
  Client giver, taker;
  uint64_t words = 0, at = 0;
  std::shared_ptr<SharedMemory> shared;
};

wire::FillBody FillOfWord(uint64_t address, uint64_t value) {
  return {.destination = address, .width = 1, .height = 1, .pitch = 8, .value = value, .element_bytes = 8};
}

TEST_F(Conformance, MemoryIsSeenWhereverItIsMapped) {
  Client client(backend_.get());
  const uint64_t memory = client.Allocate(kPiece);
  const uint64_t at = client.space().Reserve(0, 4 * kPiece, kPiece, 0).value();
  const auto shared = client.space().Share(memory, AtEnd::kKept).value();
  EXPECT_EQ(shared->bytes(), kPiece);
  ASSERT_TRUE(client.space().Map(at, shared, true));
  ASSERT_TRUE(client.space().Map(at + 2 * kPiece, shared, true));
  client.Write(at + 100, std::vector<uint8_t>(1000, 7));
  EXPECT_EQ(client.Read(at + 2 * kPiece + 100, 1000), std::vector<uint8_t>(1000, 7));
  EXPECT_EQ(client.Read(memory + 100, 1000), std::vector<uint8_t>(1000, 7));
  EXPECT_EQ(client.space().Map(at + kPiece / 2, shared, true).error().code, cuda::CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(client.space().Unmap(at, kPiece / 2).error().code, cuda::CUDA_ERROR_INVALID_VALUE);
  ASSERT_TRUE(client.space().Unmap(at, 4 * kPiece));
  EXPECT_EQ(client.Read(memory + 100, 1000), std::vector<uint8_t>(1000, 7));
}

TEST_F(Conformance, AWriteWhereNothingIsMappedIsAFault) {
  Client client(backend_.get());
  client.CreateStream(1);
  const uint64_t at = client.space().Reserve(0, kPiece, kPiece, 0).value();
  const uint64_t ticket = client.next_ticket();
  ASSERT_TRUE(client.space().Fill(
      1, ticket, {.destination = at, .width = 16, .height = 1, .pitch = 64, .value = 1, .element_bytes = 4}));
  ASSERT_TRUE(client.sink().WaitFaults(1));
  EXPECT_EQ(client.sink().faults()[0].status, cuda::CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(Conformance, AWishForAddressesIsFollowedIfTheyAreFree) {
  Client client(backend_.get());
  const uint64_t at = client.space().Reserve(0, kPiece, kPiece, 0).value();
  EXPECT_EQ(client.space().Reserve(0, kPiece, kPiece, at + 16 * kPiece).value(), at + 16 * kPiece);
  EXPECT_NE(client.space().Reserve(0, kPiece, kPiece, at + 16 * kPiece).value(), at + 16 * kPiece) << "they are taken";
  ASSERT_TRUE(client.space().Free(at));
  EXPECT_EQ(client.space().Reserve(0, kPiece, kPiece, at).value(), at);
  EXPECT_TRUE(client.space().Reserve(0, kPiece, kPiece, 4096)) << "of another window: anywhere";
}

TEST_F(Conformance, ASpaceSeesWhatAnotherSharesAndKeepsIt) {
  Client taker(backend_.get());
  const uint64_t before = backend_->memory(0).used_bytes();
  Client giver(backend_.get());
  const uint64_t memory = giver.Allocate(kPiece), secret = giver.Allocate(kPiece);
  giver.Write(memory, std::vector<uint8_t>(kPiece, 1));
  giver.Write(secret, std::vector<uint8_t>(kPiece, 0x5e));
  auto shared = giver.space().Share(memory, AtEnd::kKept).value();
  const uint64_t at = taker.space().Reserve(0, kPiece, kPiece, 0).value();
  ASSERT_TRUE(taker.space().Map(at, shared, true));
  EXPECT_EQ(taker.Read(at, kPiece), std::vector<uint8_t>(kPiece, 1));
  ASSERT_TRUE(giver.space().Free(memory));
  EXPECT_TRUE(shared->withdrawn());
  const uint64_t next = giver.Allocate(kPiece);
  giver.Write(next, std::vector<uint8_t>(kPiece, 0x5e));
  taker.Write(at, std::vector<uint8_t>(100, 2));
  EXPECT_EQ(taker.Read(at + 100, kPiece - 100), std::vector<uint8_t>(kPiece - 100, 1));
  giver.Destroy();
  EXPECT_EQ(backend_->memory(0).used_bytes(), before + kPiece) << "what is held counts";
  EXPECT_EQ(taker.Read(at + 100, kPiece - 100), std::vector<uint8_t>(kPiece - 100, 1));
  shared.reset();
  ASSERT_TRUE(taker.space().Free(at));
  EXPECT_TRUE(Comes([&] { return backend_->memory(0).used_bytes() == before; }));
}

TEST_F(Conformance, SharedCountersOfASpaceThatEndsAreSoLargeThatNobodyWaits) {
  SharedCounters counters(backend_.get());
  ASSERT_TRUE(counters.Share());
  auto& [giver, taker, words, at, shared] = counters;
  EXPECT_EQ(giver.space().Word(words + 8, 8, 5).value(), 0u);
  EXPECT_EQ(taker.space().Word(at + 8, 8, 2).value(), 5u);
  EXPECT_EQ(giver.space().Word(words + 8, 8, 0).value(), 7u);
  giver.Destroy();
  EXPECT_EQ(taker.space().Word(at + 8, 8, 0).value(), uint64_t{INT64_MAX});
}

TEST_F(Conformance, AWordOfSharedCountersIsWrittenWhenTheStreamGetsThere) {
  SharedCounters counters(backend_.get());
  ASSERT_TRUE(counters.Share());
  auto& [giver, taker, words, at, shared] = counters;
  uint64_t value = 0;
  for (const auto& [client, address] : {std::pair(&taker, at), std::pair(&giver, words)}) {
    client->CreateStream(1);
    constexpr uint64_t kToken = 5;
    ASSERT_TRUE(client->space().HostCall(1, client->next_ticket(), kToken));
    const uint64_t write = client->next_ticket();
    ASSERT_TRUE(client->space().Fill(1, write, FillOfWord(address + 16, value + 7)));
    ASSERT_TRUE(client->sink().WaitHostCalls(1));
    for (Client* const either : {&giver, &taker})
      EXPECT_EQ(either->space().Word((either == &giver ? words : at) + 16, 8, 0).value(), value) << "it is behind";
    ASSERT_TRUE(client->space().HostCallDone(1, kToken));
    ASSERT_TRUE(client->sink().WaitDone(1, write));
    value += 7;
    for (Client* const either : {&giver, &taker})
      EXPECT_EQ(either->space().Word((either == &giver ? words : at) + 16, 8, 0).value(), value);
  }
  ASSERT_TRUE(taker.space().Free(at));
  EXPECT_TRUE(taker.Synchronize(1));
  EXPECT_EQ(giver.space().Word(words + 16, 8, 0).value(), value);
}

// Who waits for it has nothing to do with its writer's end.
TEST_F(Conformance, AWordOfSharedCountersIsWrittenThoughItsWriterEndsFirst) {
  SharedCounters counters(backend_.get());
  ASSERT_TRUE(counters.Share());
  auto& [giver, taker, words, at, shared] = counters;
  taker.CreateStream(1);
  ASSERT_TRUE(taker.space().HostCall(1, taker.next_ticket(), 5));
  ASSERT_TRUE(taker.space().Fill(1, taker.next_ticket(), FillOfWord(at + 16, 7)));
  ASSERT_TRUE(taker.sink().WaitHostCalls(1));
  EXPECT_EQ(giver.space().Word(words + 16, 8, 0).value(), 0u);
  taker.Destroy();
  EXPECT_EQ(giver.space().Word(words + 16, 8, 0).value(), 7u);
}

// Nor with its failing, whoever has made them.
TEST_F(Conformance, AWordOfSharedCountersIsWrittenThoughItsWriterFailsFirst) {
  SharedCounters counters(backend_.get());
  ASSERT_TRUE(counters.Share());
  auto& [giver, taker, words, at, shared] = counters;
  for (const auto& [client, address] : {std::pair(&giver, words + 16), std::pair(&taker, at + 24)}) {
    client->CreateStream(1);
    ASSERT_TRUE(client->space().HostCall(1, client->next_ticket(), 5));
    ASSERT_TRUE(client->space().Fill(1, client->next_ticket(), FillOfWord(address, 7)));
    ASSERT_TRUE(client->sink().WaitHostCalls(1));
    client->Launch(1, 12345, 1, 1, {0, 0});
    ASSERT_TRUE(client->sink().WaitFaults(1));
  }
  EXPECT_EQ(taker.space().Word(at + 16, 8, 0).value(), 7u);
  EXPECT_EQ(giver.space().Word(words + 24, 8, 0).value(), 7u);
}

// Who waits for the greater number would wait for ever.
TEST_F(Conformance, AWordOfSharedCountersIsNeverLessThanItWas) {
  SharedCounters counters(backend_.get());
  ASSERT_TRUE(counters.Share());
  auto& [giver, taker, words, at, shared] = counters;
  for (const auto& [client, address] : {std::pair(&giver, words + 16), std::pair(&taker, at + 24)}) {
    client->CreateStream(1);
    client->CreateStream(2);
    constexpr uint64_t kToken = 5;
    ASSERT_TRUE(client->space().HostCall(1, client->next_ticket(), kToken));
    const uint64_t late = client->next_ticket(), early = client->next_ticket();
    ASSERT_TRUE(client->space().Fill(1, late, FillOfWord(address, 7)));
    ASSERT_TRUE(client->space().Fill(2, early, FillOfWord(address, 518)));
    ASSERT_TRUE(client->sink().WaitDone(2, early));
    ASSERT_TRUE(client->sink().WaitHostCalls(1));
    ASSERT_TRUE(client->space().HostCallDone(1, kToken));
    ASSERT_TRUE(client->sink().WaitDone(1, late));
    EXPECT_EQ(client->space().Word(address, 8, 0).value(), 518u);
  }
}

TEST_F(Conformance, MemoryOfTheHostIsInAFileThatClientsMayMap) {
  Client maker(backend_.get()), taker(backend_.get());
  auto shared = maker.space().CreateHostMemory(kMiB).value();
  EXPECT_EQ(shared->bytes(), kMiB);
  ASSERT_GE(shared->host_file(), 0);
  EXPECT_EQ(ftruncate(shared->host_file(), 0), -1) << "a client that shrinks it would end the server";
  const uint64_t here = maker.space().Reserve(0, kMiB, kMiB, 0).value();
  const uint64_t there = taker.space().Reserve(0, kMiB, kMiB, 0).value();
  ASSERT_TRUE(maker.space().Map(here, shared, true));
  ASSERT_TRUE(taker.space().Map(there, shared, true));
  EXPECT_EQ(taker.Read(there, kMiB), std::vector<uint8_t>(kMiB, 0));
  maker.Write(here + 100, std::vector<uint8_t>(1000, 7));
  EXPECT_EQ(taker.Read(there + 100, 1000), std::vector<uint8_t>(1000, 7));
  uint8_t in_file = 0;
  ASSERT_EQ(pread(shared->host_file(), &in_file, 1, 100), 1);
  EXPECT_EQ(in_file, 7);
  maker.Destroy();
  EXPECT_EQ(taker.Read(there + 100, 1000), std::vector<uint8_t>(1000, 7)) << "its maker has ended";
}

TEST_F(Conformance, MemoryOfTheHostIsLimitedAndComesBack) {
  Client client(backend_.get());
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{100}, kMiB + 1})
    EXPECT_EQ(client.space().CreateHostMemory(bytes).error().code, cuda::CUDA_ERROR_INVALID_VALUE) << bytes;
  EXPECT_EQ(client.space().CreateHostMemory(1ull << 62).error().code, cuda::CUDA_ERROR_OUT_OF_MEMORY);
  std::vector<std::shared_ptr<SharedMemory>> held;
  auto made = client.space().CreateHostMemory(4096);
  for (; made && held.size() < 100'000; made = client.space().CreateHostMemory(4096)) held.push_back(*made);
  ASSERT_FALSE(made) << "each has a descriptor of the server";
  EXPECT_EQ(made.error().code, cuda::CUDA_ERROR_OUT_OF_MEMORY);
  const int kept = dup(held.front()->host_file());
  ASSERT_EQ(pwrite(kept, "x", 1, 0), 1);
  held.clear();
  char there = 1;
  ASSERT_EQ(pread(kept, &there, 1, 0), 1);
  EXPECT_EQ(there, 0) << "its pages are gone, whoever has the file";
  close(kept);
  EXPECT_TRUE(client.space().CreateHostMemory(4096));
}

TEST_F(Conformance, OnlyMemoryOfTheClientIsShared) {
  Client client(backend_.get());
  const uint64_t at = client.space().Reserve(0, kPiece, kPiece, 0).value();
  const uint64_t memory = client.Allocate(kPiece);
  for (const uint64_t address : {at, memory + 4096, uint64_t{0}})
    EXPECT_EQ(client.space().Share(address, AtEnd::kKept).error().code, cuda::CUDA_ERROR_INVALID_VALUE);
  ASSERT_TRUE(client.space().Free(memory));
  EXPECT_FALSE(client.space().Share(memory, AtEnd::kKept));
}

}  // namespace
}  // namespace tutti::device::cts
