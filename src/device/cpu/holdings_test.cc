// What the process holds for clients that have ended: memory and mappings.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <thread>

#include "device/cpu/cpu_backend.h"
#include "device/cpu/sanitizers.h"
#include "device/cts/client.h"
#include "device/cts/kernels.h"

namespace tutti::device::cpu {
namespace {

using cts::Client;

uint64_t Mappings() {
  std::ifstream maps("/proc/self/maps");
  uint64_t lines = 0;
  for (std::string line; std::getline(maps, line);) ++lines;
  return lines;
}

uint64_t AnonymousBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    uint64_t kilobytes = 0;
    if (word == "RssAnon:" && status >> kilobytes) return kilobytes << 10;
  }
  return 0;
}

bool Falls(uint64_t (*what)(), uint64_t to) {
  for (int tries = 0; tries < 1000; ++tries) {
    if (what() <= to) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // SMs let go when they fall asleep
  }
  return false;
}

// 64 blocks of 32 warps that stand still at a time: 64 stacks of 32 warps each, and half a megabyte of local memory.
TEST(Holdings, StacksAndBuffersGoWithTheLastClient) {
  if (!kAsyncLeave) GTEST_SKIP() << "the sanitizer keeps memory of its own";
  const auto backend = CreateCpuBackend({.devices = 1, .sms = 2, .memory_bytes = 1ull << 30}, cts::NewTestCode());
  const auto run = [&] {
    Client client(backend.get());
    client.CreateStream(1);
    client.Launch(1, client.Kernel("meet"), 64, 1024, {client.Allocate(8), 3});
    ASSERT_TRUE(client.Synchronize(1));
  };
  const uint64_t mappings = Mappings(), bytes = AnonymousBytes();
  for (int i = 0; i < 3; ++i) run();
  EXPECT_TRUE(Falls(&Mappings, mappings + 64)) << Mappings() << " mappings, before " << mappings;
  EXPECT_TRUE(Falls(&AnonymousBytes, bytes + (8 << 20))) << AnonymousBytes() << " bytes, before " << bytes;
}

// But for what each SM holds for its next block: up to 32 stacks with a guard each.
TEST(Holdings, StacksOfBlocksThatStoodStillGoWithTheirClientThoughOthersStay) {
  if (!kAsyncLeave) GTEST_SKIP() << "the sanitizer keeps memory of its own";
  constexpr uint32_t kSms = 2;
  const auto backend = CreateCpuBackend({.devices = 1, .sms = kSms, .memory_bytes = 1ull << 30}, cts::NewTestCode());
  Client stays(backend.get());
  const uint64_t mappings = Mappings();
  for (int i = 0; i < 3; ++i) {
    Client client(backend.get());
    client.CreateStream(1);
    client.Launch(1, client.Kernel("meet"), 64, 1024, {client.Allocate(8), 3});
    ASSERT_TRUE(client.Synchronize(1));
  }
  EXPECT_TRUE(Falls(&Mappings, mappings + kSms * 70)) << Mappings() << " mappings, before " << mappings;
}

TEST(Holdings, OneClientCannotHaveAllMappingsForItsKernels) {
  const auto backend = CreateCpuBackend({.devices = 1, .sms = 1, .memory_bytes = 1ull << 30}, cts::NewTestCode());
  Client client(backend.get());
  const auto module = client.space().LoadModule(0, std::vector<uint8_t>{'a', 'd', 'd'});
  ASSERT_TRUE(module);
  constexpr uint32_t kMost = 4096;
  for (uint32_t shape = 0; shape < kMost; ++shape) {
    const uint32_t block[3] = {1 + shape % 64, 1 + shape / 64, 1};
    ASSERT_TRUE(client.space().Prepare(module->id, 0, block));
  }
  const uint32_t another[3] = {1, 1, 2}, known[3] = {1, 1, 1};
  EXPECT_FALSE(client.space().Prepare(module->id, 0, another));
  EXPECT_TRUE(client.space().Prepare(module->id, 0, known));
  ASSERT_TRUE(client.space().UnloadModule(module->id));
  const auto again = client.space().LoadModule(0, std::vector<uint8_t>{'a', 'd', 'd'});
  ASSERT_TRUE(again);
  EXPECT_TRUE(client.space().Prepare(again->id, 0, another)) << "what is unloaded does not count";
}

// What a client has unloaded costs it nothing, however much that was: programs that compile as they go run for weeks.
TEST(Holdings, AClientMayLoadAndUnloadForEver) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer keeps memory of its own";
  const auto backend = CreateCpuBackend({.devices = 1, .sms = 1, .memory_bytes = 1ull << 30}, cts::NewTestCode());
  Client client(backend.get());
  const uint32_t block[3] = {32, 1, 1};
  uint32_t gone = ~0u;
  const auto round = [&] {
    const auto module = client.space().LoadModule(0, std::vector<uint8_t>{'a', 'd', 'd'});
    ASSERT_TRUE(module);
    const auto kernel = client.space().Prepare(module->id, 0, block);
    ASSERT_TRUE(kernel) << kernel.error().text;
    EXPECT_NE(kernel->id, gone);
    gone = kernel->id;
    ASSERT_TRUE(client.space().UnloadModule(module->id));
  };
  for (int i = 0; i < 1000; ++i) round();
  const uint64_t mappings = Mappings(), bytes = AnonymousBytes();
  for (int i = 0; i < 150'000 && !HasFatalFailure(); ++i) round();
  EXPECT_LE(Mappings(), mappings + 8);
  EXPECT_LE(AnonymousBytes(), bytes + (1 << 20));
}

TEST(Holdings, AnImageIsKeptOnceForAllWhoLoadIt) {
  ImageStore store;
  const std::vector<uint8_t> bytes(1000, 7), others(1000, 8);
  const auto first = store.Keep(bytes);
  EXPECT_EQ(store.Keep(bytes), first);
  EXPECT_NE(store.Keep(others), first);
  EXPECT_EQ(*store.Keep(others), others);
}

}  // namespace
}  // namespace tutti::device::cpu
