// Clusters of several blocks on the CPU device.
#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <thread>
#include <vector>

#include "cuda/result.h"
#include "device/cpu/cpu_backend.h"
#include "device/cpu/testing/test_kernels.h"
#include "device/cts/client.h"
#include "guest/exec/sanitizers.h"

namespace tutti::device::cpu {
namespace {

using cts::Client;

// By the number of SMs.
class Clusters : public testing::TestWithParam<uint32_t> {
 protected:
  std::unique_ptr<Backend> backend_ =
      CreateCpuBackend({.devices = 1, .sms = GetParam(), .memory_bytes = 256 << 20}, NewTestCode());
};
INSTANTIATE_TEST_SUITE_P(OfSms, Clusters, testing::Values(1, 2, 32));

Grid GridOf(Client& client, const char* kernel, uint32_t blocks, uint32_t cluster, uint32_t threads) {
  Grid grid;
  grid.kernel = client.Kernel(kernel);
  grid.grid[0] = blocks;
  grid.block[0] = threads;
  grid.cluster[0] = cluster;
  return grid;
}

void Launch(Client& client, const Grid& grid, std::vector<uint64_t> arguments) {
  arguments.resize(4);  // as all test kernels take
  client.LaunchGrid(1, grid, arguments);
}

void ExpectRounds(const uint64_t* out, uint64_t blocks, uint64_t cluster, uint64_t rounds) {
  for (uint64_t i = 0; i < blocks; ++i) ASSERT_EQ(out[i], ClusterRounds(i % cluster, cluster, rounds)) << i;
}

TEST_P(Clusters, BlocksReadWhatTheNextOneHasAfterEachBarrier) {
  Client client(backend_.get());
  client.CreateStream(1);
  auto* const out = client.Array<uint64_t>(192);
  uint64_t blocks = 0;
  for (const uint32_t cluster : {16u, 2u, 3u, 8u}) {
    Launch(client, GridOf(client, "cluster", 192, cluster, 96), {reinterpret_cast<uint64_t>(out), 20});
    ASSERT_TRUE(client.Synchronize(1));
    ExpectRounds(out, 192, cluster, 20);
    blocks += 192;
    EXPECT_EQ(client.space().counters(0).Get(metrics::Counter::blocks), blocks);
  }
}

TEST_P(Clusters, GoOnWhereTheyWerePreempted) {
  if (!guest::kAsyncLeave) GTEST_SKIP() << "needs blocks to be preempted at any instruction";
  ASSERT_TRUE(backend_->SetPolicy(Policy::kTimeSlice));
  Client client(backend_.get()), other(backend_.get());
  client.CreateStream(1);
  other.CreateStream(1);
  auto* const out = client.Array<uint64_t>(64);
  auto* const others = other.Array<uint64_t>(64);
  for (int i = 0; i < 3; ++i) {
    Launch(client, GridOf(client, "cluster", 64, 4, 64), {reinterpret_cast<uint64_t>(out), 4000});
    other.Launch(1, other.Kernel("compute"), 64, 32, {reinterpret_cast<uint64_t>(others), 20'000});
  }
  ASSERT_TRUE(client.Synchronize(1));
  ASSERT_TRUE(other.Synchronize(1));
  ExpectRounds(out, 64, 4, 4000);
  for (uint64_t i = 0; i < 64; ++i) EXPECT_EQ(others[i], Compute(i, 20'000));
}

TEST_P(Clusters, FindNothingOfAnotherClient) {
  Client first(backend_.get()), second(backend_.get());
  for (Client* const client : {&first, &second}) {
    client->CreateStream(1);
    auto* const out = client->Array<uint64_t>(8);
    Launch(*client, GridOf(*client, "shared", 8, 8, 32), {reinterpret_cast<uint64_t>(out)});
    ASSERT_TRUE(client->Synchronize(1));
    EXPECT_EQ(std::accumulate(out, out + 8, uint64_t{0}), 0u);
  }
}

TEST_P(Clusters, RunBesideGridsWithoutThemInTheSameStream) {
  Client client(backend_.get());
  client.CreateStream(1);
  auto* const out = client.Array<uint64_t>(32);
  auto* const sums = client.Array<uint64_t>(4);
  auto* const in = client.Array<uint64_t>(4 * 128);
  std::iota(in, in + 4 * 128, uint64_t{0});
  for (int i = 0; i < 20; ++i) {
    Launch(client, GridOf(client, "cluster", 32, 16, 64), {reinterpret_cast<uint64_t>(out), 3});
    client.Launch(1, client.Kernel("sum"), 4, 128, {reinterpret_cast<uint64_t>(in), reinterpret_cast<uint64_t>(sums)});
  }
  ASSERT_TRUE(client.Synchronize(1));
  ExpectRounds(out, 32, 16, 3);
  for (uint64_t b = 0; b < 4; ++b) EXPECT_EQ(sums[b], 128 * (2 * b * 128 + 127) / 2);
}

TEST_P(Clusters, WaitAtTheGridsBarrierAsOne) {
  Client client(backend_.get());
  client.CreateStream(1);
  constexpr uint64_t kBlocks = 8, kRounds = 5;
  auto* const data = client.Array<uint64_t>(kBlocks * (kRounds + 1));
  std::iota(data, data + kBlocks, uint64_t{1});
  Grid grid = GridOf(client, "grid", kBlocks, 4, 64);
  grid.cooperative = true;
  Launch(client, grid, {reinterpret_cast<uint64_t>(data), kRounds});
  ASSERT_TRUE(client.Synchronize(1));
  std::vector<uint64_t> expected(data, data + kBlocks);
  for (uint64_t round = 1; round <= kRounds; ++round) {
    const std::vector<uint64_t> before = expected;
    for (uint64_t b = 0; b < kBlocks; ++b) expected[b] = before[b] + before[(b + kBlocks - 1) % kBlocks];
    for (uint64_t b = 0; b < kBlocks; ++b) ASSERT_EQ(data[round * kBlocks + b], expected[b]);
  }
}

TEST_P(Clusters, WhoseBarrierNobodyCanCompleteFail) {
  Client client(backend_.get()), other(backend_.get());
  client.CreateStream(1);
  other.CreateStream(1);
  auto* const counter = other.Array<uint64_t>(1);
  Grid grid = GridOf(client, "apart", 4, 4, 64);
  grid.cooperative = true;
  Launch(client, grid, {0});
  other.Launch(1, other.Kernel("add"), 10, 32, {reinterpret_cast<uint64_t>(counter), 1});
  ASSERT_TRUE(client.sink().WaitFaults(1));
  EXPECT_EQ(client.sink().faults()[0].status, cuda::CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_NE(client.sink().faults()[0].report.find("barrier.cluster that not all threads of the cluster reach"),
            std::string::npos);
  ASSERT_TRUE(other.Synchronize(1));
  EXPECT_EQ(*counter, 320u);
}

TEST_P(Clusters, ThatNeverEndGoWithTheirClient) {
  if (!guest::kAsyncLeave) GTEST_SKIP() << "needs blocks to be left at any instruction";
  Client other(backend_.get());
  other.CreateStream(1);
  auto* const counter = other.Array<uint64_t>(1);
  {
    Client client(backend_.get());
    client.CreateStream(1);
    Launch(client, GridOf(client, "endless", 320, 8, 64), {});
    while (client.space().Running(0).empty()) std::this_thread::yield();
    other.Launch(1, other.Kernel("add"), 10, 32, {reinterpret_cast<uint64_t>(counter), 1});
    ASSERT_TRUE(other.Synchronize(1));
  }
  EXPECT_EQ(*counter, 320u);
}

TEST_P(Clusters, OfImpossibleSizesAreRefused) {
  for (const std::array<uint32_t, 3>& cluster :
       {std::array<uint32_t, 3>{0, 1, 1}, {17, 1, 1}, {3, 1, 1}, {16, 2, 1}, {1u << 16, 1u << 16, 1}}) {
    Client client(backend_.get());
    client.CreateStream(1);
    Grid grid = GridOf(client, "empty", 1u << 16, 1, 1);
    grid.grid[1] = 34;
    if (cluster[0] == 17) grid.grid[0] = 17;
    std::copy_n(cluster.data(), 3, grid.cluster);
    Launch(client, grid, {});
    ASSERT_TRUE(client.sink().WaitFaults(1));
    EXPECT_EQ(client.sink().faults().back().status, cuda::CUDA_ERROR_INVALID_VALUE);
  }
}

}  // namespace
}  // namespace tutti::device::cpu
