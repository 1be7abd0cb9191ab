// Every limit of eight clients changes at random while they work; every result is checked. For TUTTI_STRESS_SECONDS
// (2).
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <random>
#include <thread>

#include "base/clock.h"
#include "device/cpu/cpu_backend.h"
#include "device/cpu/testing/test_kernels.h"
#include "device/cts/client.h"

namespace tutti::device::cpu {
namespace {

using cts::Client;

constexpr uint32_t kDevices = 2, kSms = 2;
constexpr int kClients = 8;
constexpr uint64_t kMemory = 64ull << 20;
// Freed memory counts until the work before it is done. So small that all clients' together never fill their group: a
// client that begins is always granted what it needs.
constexpr uint64_t kLargest = 16ull << 10;

Limits RandomLimits(std::mt19937& random, const MemoryGroups& groups) {
  Limits limits{.active_thread_percentage = 1 + static_cast<double>(random() % 100),
                .memory_groups = groups,
                .priority = static_cast<int32_t>(random() % 2)};
  if (random() % 2 == 0) limits.memory_bytes.assign(kDevices, (1 + random() % 64) << 14);
  if (random() % 4 == 0) {
    limits.sm_ranges.push_back({.device = static_cast<uint32_t>(random() % kDevices),
                                .first_sm = static_cast<uint32_t>(random() % kSms),
                                .count = 1});
  }
  if (random() % 2 == 0) limits.kernel_ns = 60'000'000'000;
  return limits;
}

// What one client does until `stop`: chains of kernels over streams of different priorities and contexts.
void Work(Backend* backend, unsigned seed, const MemoryGroups& groups, const std::atomic<bool>& stop,
          std::atomic<Client*>* shown) {
  std::mt19937 random(seed);
  while (!stop) {
    Client client(backend, {.memory_groups = groups});
    constexpr uint32_t kStreams = 6;
    for (uint32_t s = 1; s <= kStreams; ++s) {
      client.CreateStream(
          s,
          {.device = s % kDevices, .context = s % 3, .priority = -static_cast<int32_t>(s - 1), .non_blocking = s > 2});
    }
    auto* const counter = client.Array<uint64_t>(1);
    constexpr uint32_t kBlocks = 8;
    constexpr uint64_t kRounds = 20'000;
    auto* const computed = client.Array<uint64_t>(kBlocks);
    for (uint32_t device = 0; device < kDevices; ++device) {
      client.Kernel("add", device);
      client.Kernel("compute", device);
    }
    *shown = &client;  // allocations may be refused from now on
    uint64_t expected = 0;
    for (int i = 0; i < 60 && !stop; ++i) {
      const uint32_t stream = 1 + random() % kStreams, device = stream % kDevices;
      if (random() % 8 == 0) {
        ASSERT_TRUE(client.space().LimitContext(random() % kDevices, random() % 3, 0.05 + (random() % 100) / 100.0));
      }
      if (random() % 4 == 0) {
        // Whether it is granted depends on the limits of the moment; what is granted is zero and writable.
        const auto memory = client.space().Allocate(device, wire::MemoryKind::kDevice, 1 + random() % kLargest, 0);
        if (memory) {
          EXPECT_EQ(*reinterpret_cast<uint8_t*>(*memory), 0);
          *reinterpret_cast<uint8_t*>(*memory) = 1;
          ASSERT_TRUE(client.space().Free(*memory));
        }
      }
      const uint32_t blocks = 1 + random() % 16;
      client.Launch(stream, client.Kernel("add", device), blocks, 64, {reinterpret_cast<uint64_t>(counter), 1});
      expected += blocks * 64;
    }
    client.Launch(1, client.Kernel("compute", 1), kBlocks, 32, {reinterpret_cast<uint64_t>(computed), kRounds});
    for (uint32_t s = 1; s <= kStreams; ++s) ASSERT_TRUE(client.Synchronize(s));
    EXPECT_EQ(std::atomic_ref(*counter).load(), expected);
    for (uint64_t block = 0; block < kBlocks; ++block) EXPECT_EQ(computed[block], Compute(block, kRounds));
    EXPECT_TRUE(client.sink().faults().empty());
    EXPECT_FALSE(client.sink().went_backwards());
    // Whoever changes limits holds on to it for the moment of the change.
    while (shown->exchange(nullptr) == nullptr) std::this_thread::yield();
  }
}

TEST(LimitsStress, EveryLimitChangesAtRandomWhileResultsStayRight) {
  const char* const text = std::getenv("TUTTI_STRESS_SECONDS");
  const double seconds = text != nullptr ? std::atof(text) : 2;
  const auto backend = CreateCpuBackend({.devices = kDevices, .sms = kSms, .memory_bytes = kMemory}, NewTestCode());
  MemoryGroups groups;
  for (uint32_t device = 0; device < kDevices; ++device) {
    groups.push_back(std::make_shared<MemoryGroup>("all", device));
    groups.back()->hard_bytes = kMemory / 2;
  }
  std::atomic<bool> stop{false};
  std::atomic<Client*> shown[kClients] = {};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kClients; ++i) {
    threads.emplace_back([&, i] { Work(backend.get(), i, groups, stop, &shown[i]); });
  }
  std::mt19937 random(99);
  const uint64_t end_ns = NowNs() + static_cast<uint64_t>(seconds * 1e9);
  while (NowNs() < end_ns) {
    std::atomic<Client*>& one = shown[random() % kClients];
    if (Client* const client = one.exchange(nullptr); client != nullptr) {
      client->space().SetLimits(RandomLimits(random, groups));
      if (random() % 8 == 0) client->space().SetLimits({.memory_groups = groups});
      one = client;
    }
    if (random() % 16 == 0) backend->SetPolicy(static_cast<Policy>(random() % std::size(kPolicyNames)));
    for (const auto& group : groups) EXPECT_LE(group->used_bytes, kMemory / 2);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 500));
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  for (uint32_t device = 0; device < kDevices; ++device) EXPECT_EQ(backend->memory(device).used_bytes(), 0u);
  for (const auto& group : groups) EXPECT_EQ(group->used_bytes, 0u);
}

}  // namespace
}  // namespace tutti::device::cpu
