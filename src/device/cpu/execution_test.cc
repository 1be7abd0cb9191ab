// Kernels on the CPU device: what they compute, how they end.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "base/clock.h"
#include "cuda/result.h"
#include "device/cpu/cpu_backend.h"
#include "device/cpu/memory/huge_pages.h"
#include "device/cpu/testing/test_kernels.h"
#include "device/cts/client.h"
#include "guest/exec/sanitizers.h"

namespace tutti::device::cpu {
namespace {

using cts::Client;

class Execution : public testing::Test {
 protected:
  Execution() : backend_(CreateCpuBackend({.devices = 1, .sms = 2, .memory_bytes = 256 << 20}, NewTestCode())) {}

  std::unique_ptr<Backend> backend_;
};

TEST_F(Execution, EveryThreadRunsOnce) {
  Client client(backend_.get());
  client.CreateStream(1);
  auto* const out = client.Array<uint64_t>(100 * 70);
  client.Launch(1, client.Kernel("index"), 100, 70, {reinterpret_cast<uint64_t>(out), 1000});
  ASSERT_TRUE(client.Synchronize(1));
  for (uint64_t i = 0; i < 100 * 70; ++i) ASSERT_EQ(out[i], 1000 + i);
  EXPECT_EQ(client.space().counters(0).Get(metrics::Counter::blocks), 100u);
}

// As on a machine of 32 cores: SMs take batches, and from each other.
TEST(ExecutionOnManySms, EachBlockRunsOnceWhoeverTakesIt) {
  constexpr uint64_t kBlocks = 30'000, kThreads = 32, kLaunches = 20;
  const auto backend =
      CreateCpuBackend({.devices = 1, .sms = 32, .cores = 32, .memory_bytes = 256 << 20}, NewTestCode());
  Client one(backend.get()), other(backend.get());
  uint64_t* out[2];
  for (Client* client : {&one, &other}) {
    client->CreateStream(1);
    out[client == &other] = client->Array<uint64_t>(kBlocks * kThreads);
  }
  for (uint64_t launch = 0; launch < kLaunches; ++launch) {
    one.Launch(1, one.Kernel("index"), kBlocks, kThreads, {reinterpret_cast<uint64_t>(out[0]), launch});
    other.Launch(1, other.Kernel("index"), kBlocks, kThreads, {reinterpret_cast<uint64_t>(out[1]), 2 * launch});
  }
  ASSERT_TRUE(one.Synchronize(1));
  ASSERT_TRUE(other.Synchronize(1));
  for (uint64_t i = 0; i < kBlocks * kThreads; ++i) {
    ASSERT_EQ(out[0][i], kLaunches - 1 + i);
    ASSERT_EQ(out[1][i], 2 * (kLaunches - 1) + i);
  }
  for (Client* client : {&one, &other})
    EXPECT_EQ(client->space().counters(0).Get(metrics::Counter::blocks), kBlocks * kLaunches);
}

TEST_F(Execution, ManySmallLaunchesRunInOrder) {
  Client client(backend_.get());
  client.CreateStream(1);
  auto* const out = client.Array<uint64_t>(64);
  for (uint64_t i = 0; i < 2000; ++i)
    client.Launch(1, client.Kernel("index"), 1, 64, {reinterpret_cast<uint64_t>(out), i});
  ASSERT_TRUE(client.Synchronize(1));
  for (uint64_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], 1999 + i);
  EXPECT_FALSE(client.sink().went_backwards());
}

TEST_F(Execution, BlocksComeInThreeDimensions) {
  Client client(backend_.get());
  client.CreateStream(1);
  auto* const out = client.Array<uint64_t>(3 * 5 * 7);
  Grid grid;
  grid.kernel = client.Kernel("where");
  std::copy_n(std::array{3u, 5u, 7u}.data(), 3, grid.grid);
  client.LaunchGrid(1, grid, {reinterpret_cast<uint64_t>(out), 0, 0, 0});
  ASSERT_TRUE(client.Synchronize(1));
  for (uint64_t z = 0; z < 7; ++z) {
    for (uint64_t y = 0; y < 5; ++y) {
      for (uint64_t x = 0; x < 3; ++x) EXPECT_EQ(out[x + 3 * (y + 5 * z)], x | y << 16 | z << 32);
    }
  }
}

TEST_F(Execution, ClustersKnowTheirRanks) {
  Client client(backend_.get());
  client.CreateStream(1);
  auto* const out = client.Array<uint64_t>(8 * 4);
  Grid grid;
  grid.kernel = client.Kernel("where");
  std::copy_n(std::array{8u, 4u, 1u}.data(), 3, grid.grid);
  std::copy_n(std::array{2u, 2u, 1u}.data(), 3, grid.cluster);
  client.LaunchGrid(1, grid, {reinterpret_cast<uint64_t>(out), 0, 0, 0});
  ASSERT_TRUE(client.Synchronize(1));
  for (uint64_t y = 0; y < 4; ++y) {
    for (uint64_t x = 0; x < 8; ++x) EXPECT_EQ(out[x + 8 * y], x | y << 16 | (x % 2 + 2 * (y % 2)) << 48);
  }
}

TEST_F(Execution, BarriersMakeATreeReduction) {
  Client client(backend_.get());
  client.CreateStream(1);
  constexpr uint64_t kBlocks = 20, kThreads = 512;
  auto* const in = client.Array<uint64_t>(kBlocks * kThreads);
  auto* const out = client.Array<uint64_t>(kBlocks);
  for (uint64_t i = 0; i < kBlocks * kThreads; ++i) in[i] = i;
  client.Launch(1, client.Kernel("sum"), kBlocks, kThreads,
                {reinterpret_cast<uint64_t>(in), reinterpret_cast<uint64_t>(out)});
  ASSERT_TRUE(client.Synchronize(1));
  for (uint64_t b = 0; b < kBlocks; ++b) EXPECT_EQ(out[b], kThreads * (2 * b * kThreads + kThreads - 1) / 2);
}

TEST_F(Execution, BarrierReductionsVote) {
  Client client(backend_.get());
  client.CreateStream(1);
  auto* const out = client.Array<uint64_t>(3);
  client.Launch(1, client.Kernel("vote"), 1, 96, {reinterpret_cast<uint64_t>(out)});
  ASSERT_TRUE(client.Synchronize(1));
  EXPECT_EQ(out[0], 3u * 32);  // three warps each got the population 32
  EXPECT_EQ(out[1], 0u);
  EXPECT_EQ(out[2], 3u);
}

TEST_F(Execution, WarpsThatExitCountAsArrived) {
  Client client(backend_.get());
  client.CreateStream(1);
  auto* const counter = client.Array<uint64_t>(1);
  client.Launch(1, client.Kernel("early"), 10, 256, {reinterpret_cast<uint64_t>(counter)});
  ASSERT_TRUE(client.Synchronize(1));
  EXPECT_EQ(*counter, 10u * 4);
}

TEST_F(Execution, ABarrierNobodyCompletesIsAFaultAndNotAHang) {
  Client client(backend_.get());
  client.CreateStream(1);
  client.Launch(1, client.Kernel("half"), 1, 64, {});
  ASSERT_TRUE(client.Synchronize(1));
  ASSERT_EQ(client.sink().faults().size(), 1u);
  EXPECT_EQ(client.sink().faults()[0].status, cuda::CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_NE(client.sink().faults()[0].report.find("barrier"), std::string::npos) << client.sink().faults()[0].report;
}

TEST_F(Execution, ABlockMayWaitForALaterOne) {
  Client client(backend_.get());
  client.CreateStream(1);
  auto* const words = client.Array<uint64_t>(2);
  const auto address = reinterpret_cast<uint64_t>(words);
  client.Launch(1, client.Kernel("odd_even"), 8, 32, {address, address + 8});
  ASSERT_TRUE(client.Synchronize(1));
  EXPECT_EQ(words[1], 8u);
}

TEST_F(Execution, CooperativeGridsMeetAtTheirBarrier) {
  Client client(backend_.get());
  client.CreateStream(1);
  constexpr uint64_t kBlocks = 16, kRounds = 10;
  auto* const data = client.Array<uint64_t>(kBlocks * (kRounds + 1));
  for (uint64_t i = 0; i < kBlocks; ++i) data[i] = 1;
  client.Launch(1, client.Kernel("grid"), kBlocks, 64, {reinterpret_cast<uint64_t>(data), kRounds}, true);
  ASSERT_TRUE(client.Synchronize(1));
  for (uint64_t i = 0; i < kBlocks; ++i) EXPECT_EQ(data[kRounds * kBlocks + i], 1u << kRounds);
}

TEST_F(Execution, AGridTooLargeToBeResidentIsRefused) {
  Client client(backend_.get());
  client.CreateStream(1);
  client.Launch(1, client.Kernel("grid"), 1000, 1024, {0, 0}, true);
  ASSERT_TRUE(client.Synchronize(1));
  ASSERT_EQ(client.sink().faults().size(), 1u);
  EXPECT_EQ(client.sink().faults()[0].status, cuda::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}

TEST_F(Execution, PrintfReachesTheClient) {
  Client client(backend_.get());
  client.CreateStream(1);
  auto* const memory = client.Array<uint64_t>(64);
  std::strcpy(reinterpret_cast<char*>(memory), "value %d of %s\n");
  std::strcpy(reinterpret_cast<char*>(memory + 8), "many");
  memory[16] = 5;
  memory[17] = reinterpret_cast<uint64_t>(memory + 8);
  const auto address = reinterpret_cast<uint64_t>(memory);
  client.Launch(1, client.Kernel("print"), 1, 1, {address, address + 16 * 8, address + 32 * 8});
  ASSERT_TRUE(client.Synchronize(1));
  EXPECT_EQ(client.sink().printed(), "value 5 of many\n");
  EXPECT_EQ(memory[32], 2u);
}

TEST_F(Execution, WhatAKernelLeavesOnItsStackIsPrintedToNobody) {
  const auto backend = CreateCpuBackend({.devices = 1, .sms = 1, .memory_bytes = 256 << 20}, NewTestCode());
  Client earlier(backend.get()), later(backend.get());
  uint64_t secret = 0;
  for (Client* client : {&earlier, &later}) {
    client->CreateStream(1);
    auto* const memory = client->Array<uint64_t>(64);
    const auto address = reinterpret_cast<uint64_t>(memory);
    std::strcpy(reinterpret_cast<char*>(memory), "%s");
    if (client == &earlier) {
      client->Launch(1, client->Kernel("whisper"), 1, 1, {address});
      ASSERT_TRUE(client->Synchronize(1));
      secret = memory[0];
    } else {
      memory[8] = secret;
      client->Launch(1, client->Kernel("print"), 1, 1, {address, address + 64, address + 128});
      ASSERT_TRUE(client->Synchronize(1));
    }
  }
  EXPECT_NE(secret, 0u);
  EXPECT_EQ(later.sink().printed().find('s'), std::string::npos) << later.sink().printed();
}
TEST_F(Execution, PrintfOfForeignMemoryIsHarmless) {
  Client client(backend_.get());
  client.CreateStream(1);
  auto* const out = client.Array<uint64_t>(1);
  client.Launch(1, client.Kernel("print"), 1, 1, {8, 8, reinterpret_cast<uint64_t>(out)});
  ASSERT_TRUE(client.Synchronize(1));
  EXPECT_EQ(static_cast<int64_t>(*out), -1);
}

TEST_F(Execution, AFailedAssertSaysWhereAndEndsTheClientsWork) {
  Client client(backend_.get());
  client.CreateStream(1);
  auto* const memory = client.Array<char>(300);
  std::strcpy(memory, "x > 0");
  std::strcpy(memory + 100, "a.cu");
  std::strcpy(memory + 200, "void k()");
  const auto address = reinterpret_cast<uint64_t>(memory);
  client.Launch(1, client.Kernel("assert"), 1, 32, {address, address + 100, address + 200});
  ASSERT_TRUE(client.Synchronize(1));
  EXPECT_EQ(client.sink().asserted(), "a.cu:7: void k(): block: [0,0,0], thread: [3,0,0] Assertion `x > 0` failed.\n");
  ASSERT_EQ(client.sink().faults().size(), 1u);
  EXPECT_EQ(client.sink().faults()[0].status, cuda::CUDA_ERROR_ASSERT);
}

TEST_F(Execution, KernelsHaveAHeap) {
  Client client(backend_.get());
  client.CreateStream(1);
  auto* const out = client.Array<uint64_t>(2);
  client.Launch(1, client.Kernel("heap"), 1, 1, {reinterpret_cast<uint64_t>(out)});
  ASSERT_TRUE(client.Synchronize(1));
  EXPECT_NE(out[0], 0u);
  EXPECT_EQ(out[1], 0u);
  EXPECT_TRUE(client.sink().faults().empty());
}

TEST_F(Execution, SharedMemoryOfAnotherClientIsNeverSeen) {
  Client first(backend_.get()), second(backend_.get());
  for (Client* client : {&first, &second}) {
    client->CreateStream(1);
    auto* const out = client->Array<uint64_t>(8);
    client->Launch(1, client->Kernel("shared"), 1, 32, {reinterpret_cast<uint64_t>(out)}, false, 1000);
    ASSERT_TRUE(client->Synchronize(1));
    EXPECT_EQ(out[0], 0u);
  }
}

struct FaultCase {
  const char* kernel;
  std::vector<uint64_t> arguments;
  int32_t status;
  const char* report;
};

class Faults : public Execution, public testing::WithParamInterface<FaultCase> {};

TEST_P(Faults, EndTheirClientsWorkWithAReportAndTouchNobodyElse) {
  const FaultCase& fault = GetParam();
  Client victim(backend_.get()), other(backend_.get());
  victim.CreateStream(1);
  victim.CreateStream(2);
  other.CreateStream(1);
  auto* const counter = other.Array<uint64_t>(1);
  for (int i = 0; i < 10; ++i) other.Launch(1, other.Kernel("add"), 10, 32, {reinterpret_cast<uint64_t>(counter), 1});
  victim.Launch(1, victim.Kernel(fault.kernel), 4, 64, fault.arguments);
  victim.Launch(1, victim.Kernel("empty"), 1, 32, {});
  ASSERT_TRUE(victim.Synchronize(1)) << "queued work is dropped, its tickets complete";
  ASSERT_TRUE(victim.Synchronize(2));
  ASSERT_EQ(victim.sink().faults().size(), 1u) << "reported once";
  EXPECT_EQ(victim.sink().faults()[0].status, fault.status) << victim.sink().faults()[0].report;
  EXPECT_NE(victim.sink().faults()[0].report.find(fault.report), std::string::npos) << victim.sink().faults()[0].report;
  ASSERT_TRUE(other.Synchronize(1));
  EXPECT_EQ(*counter, 10u * 10 * 32);
  EXPECT_TRUE(other.sink().faults().empty());

  victim.space().Reset(0);
  auto* const again = victim.Array<uint64_t>(1);
  victim.Launch(1, victim.Kernel("add"), 1, 32, {reinterpret_cast<uint64_t>(again), 1});
  ASSERT_TRUE(victim.Synchronize(1));
  EXPECT_EQ(*again, 32u) << "after a reset the client works again";
}

INSTANTIATE_TEST_SUITE_P(
    All, Faults,
    testing::Values(
        FaultCase{"store", {8, 1}, cuda::CUDA_ERROR_ILLEGAL_ADDRESS, "0x8 in kernel store, block ("},
        FaultCase{"store", {0x8000'0000'0000'0000, 1}, cuda::CUDA_ERROR_ILLEGAL_ADDRESS, "in kernel store"},
        FaultCase{"divide", {0}, cuda::CUDA_ERROR_LAUNCH_FAILED, "arithmetic fault in kernel divide"},
        FaultCase{"illegal", {}, cuda::CUDA_ERROR_ILLEGAL_INSTRUCTION, "illegal instruction in kernel illegal"},
        FaultCase{"overflow", {}, cuda::CUDA_ERROR_HARDWARE_STACK_ERROR, "stack overflow"},
        FaultCase{"trap", {719, 5}, cuda::CUDA_ERROR_LAUNCH_FAILED, "thread (5,0,0), PTX line 42 (test.cu:17)"},
        FaultCase{"trap", {716, 5}, cuda::CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address 0x1234"},
        FaultCase{"trap", {12345, 5}, cuda::CUDA_ERROR_LAUNCH_FAILED, "in kernel trap"}),
    [](const auto& info) { return std::string(info.param.kernel) + std::to_string(info.index); });

TEST_F(Execution, WrongLaunchesAreFaultsOfTheClient) {
  Client client(backend_.get());
  client.CreateStream(1);
  Grid grid;
  grid.kernel = 12345;
  client.LaunchGrid(1, grid, {});
  ASSERT_TRUE(client.Synchronize(1));
  EXPECT_EQ(client.sink().faults().at(0).status, cuda::CUDA_ERROR_INVALID_HANDLE);
  client.space().Reset(0);
  client.Launch(1, client.Kernel("empty"), 1, 2000, {});
  ASSERT_TRUE(client.Synchronize(1));
  EXPECT_EQ(client.sink().faults().at(1).status, cuda::CUDA_ERROR_INVALID_VALUE);
  client.space().Reset(0);
  client.Launch(1, client.Kernel("empty"), 1, 32, {}, false, 1 << 20);
  ASSERT_TRUE(client.Synchronize(1));
  EXPECT_EQ(client.sink().faults().at(2).status, cuda::CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Execution, AStormOfFaultsLeavesTheOthersAlone) {
  Client steady(backend_.get());
  steady.CreateStream(1);
  auto* const counter = steady.Array<uint64_t>(1);
  constexpr int kRounds = 100;
  for (int i = 0; i < kRounds; ++i) {
    Client client(backend_.get());
    client.CreateStream(1);
    client.CreateStream(2);
    steady.Launch(1, steady.Kernel("add"), 8, 128, {reinterpret_cast<uint64_t>(counter), 1});
    client.Launch(1, client.Kernel("sum"), 16, 256, {client.Allocate(1 << 16), client.Allocate(4096)});
    client.Launch(2, client.Kernel(i % 2 == 0 ? "store" : "divide"), 16, 64, {uint64_t(i % 3)});
    if (i % 3 == 0) {
      EXPECT_TRUE(client.sink().WaitFaults(1));
    }
  }
  ASSERT_TRUE(steady.Synchronize(1));
  EXPECT_EQ(*counter, kRounds * 8u * 128);
  EXPECT_TRUE(steady.sink().faults().empty());
}

bool IsThere(uint64_t address) {
  unsigned char there = 0;
  return mincore(reinterpret_cast<void*>(address), 4096, &there) == 0 && (there & 1) != 0;
}

void AwaitPages(uint64_t begin, uint64_t bytes) {
  const uint64_t until_ns = NowNs() + 10'000'000'000;
  for (uint64_t page = begin; page < begin + bytes; page += kHugePageBytes) {
    while (!IsThere(page + kHugePageBytes / 2) && NowNs() < until_ns) std::this_thread::yield();
    ASSERT_TRUE(IsThere(page + kHugePageBytes / 2)) << "page " << (page - begin) / kHugePageBytes;
  }
}

TEST_F(Execution, LargeMemoryOfADeviceGetsHugePages) {
  constexpr uint64_t kBytes = 3 * kHugePageBytes;
  Client client(backend_.get());
  const uint64_t address = client.Allocate(kBytes);
  ASSERT_EQ(address % kHugePageBytes, 0u);
  if (!MakeHugePage(address)) GTEST_SKIP() << "this system makes no huge pages of memory files when asked to";
  AwaitPages(address, kBytes);
}

uint64_t FileBytes(int fd) {
  struct stat info{};
  fstat(fd, &info);
  return static_cast<uint64_t>(info.st_blocks) * 512;
}

// Whoever has all of a device's memory, and frees it, has all of it again at once, whatever is being done for it; and
// nothing of it stays behind.
TEST_F(Execution, LargeMemoryCanBeHadAgainOnceItIsFreed) {
  Client client(backend_.get());
  const uint64_t all = backend_->memory(0).total_bytes();
  for (int i = 0; i < 200; ++i) {
    const auto memory = client.space().Allocate(0, wire::MemoryKind::kDevice, all, 0);
    ASSERT_TRUE(memory) << memory.error().text << " in round " << i;
    if (i % 2 != 0) std::this_thread::sleep_for(std::chrono::microseconds(10 * i));
    ASSERT_TRUE(client.space().Free(*memory));
    ASSERT_EQ(client.sink().memory_used(0), 0u);
    const uint64_t until_ns = NowNs() + 10'000'000'000;
    while (i % 4 == 1 && FileBytes(client.space().window_fd()) != 0 && NowNs() < until_ns) std::this_thread::yield();
    if (i % 4 == 1) {
      ASSERT_EQ(FileBytes(client.space().window_fd()), 0u) << "round " << i;
    }
  }
}

TEST_F(Execution, AnEndlessKernelGoesAwayWithItsClient) {
  auto client = std::make_unique<Client>(backend_.get());
  client->CreateStream(1);
  if (guest::kAsyncLeave) {
    client->Launch(1, client->Kernel("endless"), 10, 32, {});
  } else {
    client->Launch(1, client->Kernel("wait"), 10, 32, {client->Allocate(8), client->Allocate(8)});
  }
  client.reset();
  Client next(backend_.get());
  next.CreateStream(1);
  next.Launch(1, next.Kernel("empty"), 10, 32, {});
  EXPECT_TRUE(next.Synchronize(1));
}

TEST_F(Execution, ResetEndsAnEndlessKernel) {
  Client client(backend_.get());
  client.CreateStream(1);
  const uint64_t flag = client.Allocate(16);
  client.Launch(1, client.Kernel("wait"), 4, 64, {flag, flag + 8});
  client.space().Reset(0);
  EXPECT_TRUE(client.Synchronize(1));
  EXPECT_TRUE(client.sink().faults().empty());
}

TEST_F(Execution, AnEndlessKernelDoesNotKeepOthersFromRunning) {
  if (!guest::kAsyncLeave) GTEST_SKIP() << "needs blocks to be preempted at any instruction";
  Client hog(backend_.get()), other(backend_.get());
  hog.CreateStream(1);
  other.CreateStream(1);
  hog.Launch(1, hog.Kernel("endless"), 100, 32, {});
  auto* const in = other.Array<uint64_t>(1 << 15);
  auto* const out = other.Array<uint64_t>(64);
  for (int i = 0; i < (1 << 15); ++i) in[i] = 1;
  for (int i = 0; i < 50; ++i) {
    other.Launch(1, other.Kernel("sum"), 64, 512, {reinterpret_cast<uint64_t>(in), reinterpret_cast<uint64_t>(out)});
  }
  ASSERT_TRUE(other.Synchronize(1));
  for (int i = 0; i < 64; ++i) EXPECT_EQ(out[i], 512u);
}

TEST_F(Execution, APreemptedBlockLosesNothing) {
  if (!guest::kAsyncLeave) GTEST_SKIP() << "needs blocks to be preempted at any instruction";
  Client hog(backend_.get()), client(backend_.get());
  hog.CreateStream(1);
  client.CreateStream(1);
  hog.Launch(1, hog.Kernel("endless"), 4, 32, {});
  constexpr uint64_t kBlocks = 8, kRounds = 3'000'000;  // several milliseconds each: preempted again and again
  auto* const out = client.Array<uint64_t>(kBlocks);
  client.Launch(1, client.Kernel("compute"), kBlocks, 32, {reinterpret_cast<uint64_t>(out), kRounds});
  ASSERT_TRUE(client.Synchronize(1));
  for (uint64_t i = 0; i < kBlocks; ++i) EXPECT_EQ(out[i], Compute(i, kRounds)) << i;
}

// Its blocks were short before, so an SM takes many at a time; now they are long, and another client waits.
TEST_F(Execution, ARowOfBlocksThatIsPreemptedRunsEachOfThemOnce) {
  if (!guest::kAsyncLeave) GTEST_SKIP() << "needs blocks to be preempted at any instruction";
  constexpr uint32_t kBlocks = 400, kMostTries = 20;
  constexpr uint64_t kRounds = 100'000, kLaunches = 20;
  uint64_t cut_short = 0;  // rows
  for (uint32_t tries = 0; cut_short == 0; ++tries) {
    ASSERT_LT(tries, kMostTries) << "no row has been preempted";
    Client hog(backend_.get()), client(backend_.get());  // of one that ran before, blocks are known to be long
    hog.CreateStream(1);
    client.CreateStream(1);
    auto* const begun = client.Array<uint64_t>(kBlocks);
    auto* const sums = client.Array<uint64_t>(kBlocks);
    auto* const cut = client.Array<uint64_t>(1);
    const auto launch = [&](uint64_t rounds) {
      client.Launch(1, client.Kernel("row"), kBlocks, 32,
                    {reinterpret_cast<uint64_t>(begun), reinterpret_cast<uint64_t>(sums), rounds,
                     reinterpret_cast<uint64_t>(cut)});
    };
    for (uint64_t i = 1; i < kLaunches; ++i) launch(0);
    ASSERT_TRUE(client.Synchronize(1));
    hog.Launch(1, hog.Kernel("endless"), 4, 32, {});
    launch(kRounds);
    ASSERT_TRUE(client.Synchronize(1));
    for (uint32_t i = 0; i < kBlocks; ++i) {
      ASSERT_EQ(begun[i], kLaunches) << i;
      ASSERT_EQ(sums[i], (kLaunches - 1) * Compute(i, 0) + Compute(i, kRounds)) << i;
    }
    cut_short = *cut;
    EXPECT_LE(cut_short, client.space().counters(0).Get(metrics::Counter::preemptions));
  }
}

}  // namespace
}  // namespace tutti::device::cpu
