// Kernels whose blocks may begin in any order: at a place for each SM, once it is known how long they take
// (schedule/block_places.h).
#include <gtest/gtest.h>

#include <algorithm>

#include "device/cpu/cpu_backend.h"
#include "device/cpu/testing/test_kernels.h"
#include "device/cts/client.h"

namespace tutti::device::cpu {
namespace {

using cts::Client;

std::unique_ptr<Backend> NewBackend() {
  return CreateCpuBackend({.devices = 1, .sms = 2, .memory_bytes = 256 << 20}, NewTestCode());
}

// How few blocks of `kernel` have begun before the middle one, of several launches, but for the first: then it is not
// known how long they take.
uint64_t TurnOfTheMiddle(Client& client, const char* kernel, uint64_t blocks, uint32_t cluster = 1) {
  constexpr int kLaunches = 20;
  auto* const out = client.Array<uint64_t>(blocks);
  uint64_t fewest = blocks;
  for (int launch = 0; launch < kLaunches; ++launch) {
    auto* const counter = client.Array<uint64_t>(1);
    Grid grid;
    grid.kernel = client.Kernel(kernel);
    grid.grid[0] = static_cast<uint32_t>(blocks);
    grid.block[0] = 32;
    grid.cluster[0] = cluster;
    client.LaunchGrid(1, grid, {reinterpret_cast<uint64_t>(out), reinterpret_cast<uint64_t>(counter), 5'000, 0});
    EXPECT_TRUE(client.Synchronize(1));
    EXPECT_EQ(*counter, blocks);
    if (launch != 0) fewest = std::min(fewest, out[blocks / 2]);
  }
  return fewest;
}

TEST(BlocksInAnyOrder, AreInOrderWhereOneMightWaitOrTheyPrintOrAreOfACluster) {
  constexpr uint64_t kBlocks = 200;
  const auto backend = NewBackend();
  Client client(backend.get());
  client.CreateStream(1);
  EXPECT_GT(TurnOfTheMiddle(client, "turns_in_order", kBlocks), kBlocks / 4);
  EXPECT_GT(TurnOfTheMiddle(client, "turns_to_print", kBlocks), kBlocks / 4);
  EXPECT_GT(TurnOfTheMiddle(client, "turns", kBlocks, 2), kBlocks / 4);
  // The SM whose place it is may come late.
  constexpr int kMostTries = 100;
  int tries = 0;
  while (tries < kMostTries && TurnOfTheMiddle(client, "turns", kBlocks) > kBlocks / 4) ++tries;
  EXPECT_LT(tries, kMostTries);
}

TEST(BlocksInAnyOrder, RunOnceWhateverPreemptsThem) {
  constexpr uint64_t kBlocks = 150, kLaunches = 12, kNs = 20'000, kInterrupts = 300;
  const auto backend = NewBackend();
  Client background(backend.get(), {.priority = 1}), urgent(backend.get());
  background.CreateStream(1);
  urgent.CreateStream(1);
  auto* const counter = background.Array<uint64_t>(1);
  for (uint64_t launch = 0; launch < kLaunches; ++launch) {
    background.Launch(1, background.Kernel("slow"), kBlocks, 32, {reinterpret_cast<uint64_t>(counter), kNs});
  }
  auto* const other = urgent.Array<uint64_t>(1);
  for (uint64_t i = 0; i < kInterrupts; ++i) {
    urgent.Launch(1, urgent.Kernel("slow"), 3, 32, {reinterpret_cast<uint64_t>(other), 10'000});
    ASSERT_TRUE(urgent.Synchronize(1));
  }
  ASSERT_TRUE(background.Synchronize(1));
  EXPECT_EQ(*counter, kBlocks * kLaunches);
  EXPECT_EQ(*other, 3 * kInterrupts);
  EXPECT_EQ(background.space().counters(0).Get(metrics::Counter::blocks), kBlocks * kLaunches);
}

}  // namespace
}  // namespace tutti::device::cpu
