// Memory: allocation, limits, copies, fills.
#include <cstring>
#include <numeric>

#include "cuda/result.h"
#include "device/cts/conformance.h"

namespace tutti::device::cts {
namespace {

constexpr uint64_t kMiB = 1 << 20;

TEST_F(Conformance, AllocationsLieInTheWindowAlignedAndApart) {
  Client client(backend_.get());
  uint64_t last_end = 0;
  for (const uint64_t bytes : {1ull, 100ull, 4097ull, 1000000ull}) {
    const auto address = client.space().Allocate(0, wire::MemoryKind::kDevice, bytes, 512);
    ASSERT_TRUE(address);
    EXPECT_EQ(*address % 512, 0u);
    EXPECT_GE(*address, last_end);
    last_end = *address + bytes;
  }
}

TEST_F(Conformance, OnlyTheBeginningOfAnAllocationCanBeFreedAndOnlyOnce) {
  Client client(backend_.get());
  const uint64_t address = client.Allocate(4096);
  EXPECT_EQ(client.space().Free(address + 256).error().code, cuda::CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(client.space().Free(0).error().code, cuda::CUDA_ERROR_INVALID_VALUE);
  EXPECT_TRUE(client.space().Free(address));
  EXPECT_EQ(client.space().Free(address).error().code, cuda::CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Conformance, MemoryInUseIsReported) {
  Client client(backend_.get());
  const uint64_t before = backend_->memory(0).used_bytes();
  const uint64_t address = client.Allocate(4 * kMiB);
  EXPECT_EQ(client.sink().memory_used(0), 4 * kMiB);
  EXPECT_EQ(backend_->memory(0).used_bytes(), before + 4 * kMiB);
  ASSERT_TRUE(client.space().Free(address));
  EXPECT_TRUE(client.sink().WaitMemory(0, 0));
  EXPECT_EQ(client.space().counters(0).Get(metrics::Counter::memory_bytes), 0u);
}

TEST_F(Conformance, HostMemoryDoesNotCountAgainstTheDevice) {
  Client client(backend_.get());
  ASSERT_TRUE(client.space().Allocate(0, wire::MemoryKind::kHost, kMiB, 256));
  EXPECT_EQ(client.space().counters(0).Get(metrics::Counter::memory_bytes), 0u);
}

TEST_F(Conformance, AClientsLimitHolds) {
  Client client(backend_.get(), {.memory_bytes = {2 * kMiB}});
  const auto first = client.space().Allocate(0, wire::MemoryKind::kDevice, kMiB, 256);
  ASSERT_TRUE(first);
  EXPECT_EQ(client.space().Allocate(0, wire::MemoryKind::kDevice, kMiB + 1, 256).error().code,
            cuda::CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_TRUE(client.space().Allocate(0, wire::MemoryKind::kManaged, kMiB, 256));
  ASSERT_TRUE(client.space().Free(*first));
  EXPECT_TRUE(client.space().Allocate(0, wire::MemoryKind::kDevice, kMiB, 256)) << "what was freed can be had again";
  client.space().SetLimits({.memory_bytes = {8 * kMiB}});
  EXPECT_TRUE(client.space().Allocate(0, wire::MemoryKind::kDevice, 4 * kMiB, 256)) << "limits change live";
}

TEST_F(Conformance, ADeviceIsNotOversubscribedByManyClients) {
  const uint64_t total = backend_->devices()[0].total_bytes;
  Client first(backend_.get()), second(backend_.get());
  ASSERT_TRUE(first.space().Allocate(0, wire::MemoryKind::kDevice, total / 4 * 3, 256));
  EXPECT_EQ(second.space().Allocate(0, wire::MemoryKind::kDevice, total / 2, 256).error().code,
            cuda::CUDA_ERROR_OUT_OF_MEMORY);
  first.Destroy();
  EXPECT_TRUE(second.space().Allocate(0, wire::MemoryKind::kDevice, total / 2, 256))
      << "a client that goes gives back all";
}

TEST_F(Conformance, MemoryIsZeroAlsoTheSecondTime) {
  Client client(backend_.get());
  for (int round = 0; round < 20; ++round) {
    const uint64_t bytes = 100 + 5000 * (round % 3);
    const uint64_t memory = client.Allocate(bytes), neighbour = client.Allocate(100);
    ASSERT_EQ(client.Read(memory, bytes), std::vector<uint8_t>(bytes));
    client.Write(memory, std::vector<uint8_t>(bytes, 0xff));
    client.Write(neighbour, std::vector<uint8_t>(100, 0xee));
    ASSERT_TRUE(client.space().Free(memory));
    EXPECT_EQ(client.ReadValue<uint8_t>(neighbour + 99), 0xee) << "freeing touches nobody else's bytes";
    ASSERT_TRUE(client.space().Free(neighbour));
  }
}

TEST_F(Conformance, AFreeWaitsForEarlierWork) {
  Client client(backend_.get());
  client.CreateStream(1);
  const uint64_t gate = client.next_ticket();
  ASSERT_TRUE(client.space().HostCall(1, gate, 1));
  const uint64_t address = client.Allocate(kMiB);
  ASSERT_TRUE(client.sink().WaitHostCalls(1));
  ASSERT_TRUE(client.space().Free(address));
  EXPECT_EQ(client.sink().memory_used(0), kMiB) << "the stream has not passed the host call yet";
  ASSERT_TRUE(client.space().HostCallDone(1, 1));
  ASSERT_TRUE(client.Synchronize(1));
  EXPECT_TRUE(client.sink().WaitMemory(0, 0));
}

TEST_F(Conformance, AFreeInAStreamWaitsForThatStreamAlone) {
  Client client(backend_.get());
  client.CreateStream(1);
  client.CreateStream(2);
  const uint64_t first = client.Allocate(kMiB), second = client.Allocate(kMiB);
  ASSERT_TRUE(client.space().HostCall(1, client.next_ticket(), 1));
  ASSERT_TRUE(client.sink().WaitHostCalls(1));
  ASSERT_TRUE(client.space().FreeInStream(1, client.next_ticket(), first));
  ASSERT_TRUE(client.space().FreeInStream(2, client.next_ticket(), second));
  ASSERT_TRUE(client.Synchronize(2));
  EXPECT_TRUE(client.sink().WaitMemory(0, kMiB));
  EXPECT_EQ(client.space().Free(second).error().code, cuda::CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(client.space().Free(first).error().code, cuda::CUDA_ERROR_INVALID_VALUE) << "it is freed already";
  ASSERT_TRUE(client.space().HostCallDone(1, 1));
  ASSERT_TRUE(client.Synchronize(1));
  EXPECT_TRUE(client.sink().WaitMemory(0, 0));
}

TEST_F(Conformance, AFreeInAStreamOfWhatIsNotAllocatedIsAMark) {
  Client client(backend_.get());
  client.CreateStream(1);
  const uint64_t address = client.Allocate(kMiB), other = client.Allocate(kMiB);
  uint64_t last = 0;
  for (const uint64_t wrong : {uint64_t{0}, address + 256, ~uint64_t{0}, address, address})
    ASSERT_TRUE(client.space().FreeInStream(1, last = client.next_ticket(), wrong));
  EXPECT_TRUE(client.sink().WaitDone(1, last));
  EXPECT_TRUE(client.sink().WaitMemory(0, kMiB));
  EXPECT_FALSE(client.space().FreeInStream(2, client.next_ticket(), other)) << "there is no stream 2";
}

TEST_F(Conformance, CopiesMoveBytes) {
  Client client(backend_.get());
  client.CreateStream(1);
  constexpr uint64_t kBytes = 3 * kMiB + 5;
  const uint64_t from = client.Allocate(kBytes), to = client.Allocate(kBytes);
  std::vector<uint8_t> bytes(kBytes);
  for (uint64_t i = 0; i < kBytes; ++i) bytes[i] = static_cast<uint8_t>(i * 31);
  client.Write(from, bytes);
  const uint64_t copied = client.space().counters(0).Get(metrics::Counter::copied_bytes);
  ASSERT_TRUE(client.space().Copy(1, client.next_ticket(),
                                  {.destination = to, .source = from, .row_bytes = kBytes, .rows = 1, .planes = 1}));
  ASSERT_TRUE(client.Synchronize(1));
  EXPECT_EQ(client.space().counters(0).Get(metrics::Counter::copied_bytes) - copied, kBytes);
  EXPECT_EQ(client.Read(to, kBytes), bytes);
}

TEST_F(Conformance, FillsSetElements) {
  Client client(backend_.get());
  client.CreateStream(1);
  const uint64_t memory = client.Allocate(4 << 20);
  ASSERT_TRUE(client.space().Fill(1, client.next_ticket(),
                                  {.destination = memory,
                                   .width = 1 << 20,
                                   .height = 1,
                                   .pitch = 0,
                                   .value = 0xdeadbeef,
                                   .element_bytes = 4,
                                   .reserved = 0}));
  ASSERT_TRUE(client.Synchronize(1));
  const std::vector<uint8_t> filled = client.Read(memory, 4 << 20);
  for (size_t i = 0; i < filled.size(); i += 4) {
    uint32_t element;
    std::memcpy(&element, &filled[i], sizeof element);
    ASSERT_EQ(element, 0xdeadbeefu);
  }
}

TEST_F(Conformance, ACopyOutsideOfTheWindowIsAFaultOfItsClient) {
  Client client(backend_.get());
  client.CreateStream(1);
  const uint64_t inside = client.Allocate(4096);
  ASSERT_TRUE(client.space().Copy(1, client.next_ticket(),
                                  {.destination = inside, .source = 0x1000, .row_bytes = 64, .rows = 1, .planes = 1}));
  ASSERT_TRUE(client.Synchronize(1));
  ASSERT_EQ(client.sink().faults().size(), 1u);
  EXPECT_EQ(client.sink().faults()[0].status, cuda::CUDA_ERROR_ILLEGAL_ADDRESS);
}

}  // namespace
}  // namespace tutti::device::cts
