// Calls of a client that wait for its executor while it, or another client, makes it wait.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "device/gpu/slabs.h"
#include "device/gpu/testing/gpu_fixture.h"

namespace tutti::device::gpu {
namespace {

class GpuWaits : public GpuFixture {};

TEST_F(GpuWaits, MemoryIsUnmappedThoughAKernelWaitsForARecordThatComesLater) {
  Start({.isolation = Isolation::kShared, .fenced = true});
  const auto client = Serve("a");
  for (int i = 0; i < 17; ++i) client->Allocate(kMebibyte);  // the first small ones lie in slabs with others
  const uint64_t slab = client->Allocate(kSlabBytes), word = client->Allocate(sizeof(uint64_t));
  const auto shared = client->space().Share(slab, Space::AtEnd::kKept);
  ASSERT_TRUE(shared) << shared.error().text;
  const auto reserved = client->space().Reserve(0, kSlabBytes, kSlabBytes, 0);
  ASSERT_TRUE(reserved) << reserved.error().text;
  const Status mapped = client->space().Map(*reserved, *shared, true);
  ASSERT_TRUE(mapped) << mapped.error().text;
  client->CreateStream(2);
  const uint32_t await = client->Kernel(cts::kAwait), add = client->Kernel(cts::kAdd);
  client->Launch(1, await, 1, 1, {word, 0, 0, 0});
  AwaitGiven(*client);
  Status unmapped = Fail("");
  std::atomic<bool> over{false};
  std::thread unmaps([&] {
    unmapped = client->space().Unmap(*reserved, kSlabBytes);
    over = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(over) << "the kernel may use it";
  client->Launch(2, add, 1, 1, {word, 1, 0, 0});
  unmaps.join();
  EXPECT_TRUE(unmapped) << unmapped.error().text;
  EXPECT_TRUE(client->Synchronize(1));
  EXPECT_TRUE(client->Computes());
}

TEST_F(GpuWaits, ACopyWithinHostMemoryHoldsUpNoOtherStreamWhileAKernelIsBeforeIt) {
  Start({.isolation = Isolation::kShared});
  const auto client = Serve("a");
  const auto take = [&] { return client->space().Allocate(0, wire::MemoryKind::kHost, kMebibyte, 256).value(); };
  const uint64_t from = take(), to = take();
  *client->space().Reached(from, 1) = 7;
  const uint64_t word = Spin(*client), ticket = client->next_ticket();
  ASSERT_TRUE(client->space().Copy(
      1, ticket, {.destination = to, .source = from, .row_bytes = kMebibyte, .rows = 1, .planes = 1}));
  EndSpin(*client, word);
  EXPECT_TRUE(client->sink().WaitDone(1, ticket));
  EXPECT_EQ(*client->space().Reached(to, 1), 7);
  EXPECT_TRUE(client->Computes());
}

TEST_F(GpuWaits, AllocationsOfANeighbourSucceedWhileTheContextIsLost) {
  Start({.isolation = Isolation::kShared});
  const auto culprit = Serve("a"), neighbour = Serve("a");
  const pid_t first = Executors().front();
  std::atomic<bool> over{false};
  std::string failed;
  std::thread allocates([&] {
    while (!over && failed.empty()) {
      const auto address = neighbour->space().Allocate(0, wire::MemoryKind::kDevice, kSlabBytes, 0);
      if (!address) failed = address.error().text;
      if (address && !neighbour->space().Free(*address)) failed = "it cannot be freed";
    }
  });
  TouchNothing(*culprit);
  EXPECT_TRUE(culprit->sink().WaitFaults(1));
  EXPECT_TRUE(Becomes([&] { return Executors().front() != first; }));
  over = true;
  allocates.join();
  EXPECT_EQ(failed, "");
  EXPECT_TRUE(neighbour->Computes());
  EXPECT_TRUE(neighbour->sink().faults().empty());
}

}  // namespace
}  // namespace tutti::device::gpu
