// Memory and mappings that the process holds after clients have ended.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "device/cpu/cpu_backend.h"
#include "device/cpu/exec/block_pool.h"
#include "device/cpu/testing/test_kernels.h"
#include "device/cts/client.h"
#include "guest/exec/sanitizers.h"

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
  if (!guest::kAsyncLeave) GTEST_SKIP() << "the sanitizer keeps memory of its own";
  const auto backend = CreateCpuBackend({.devices = 1, .sms = 2, .memory_bytes = 1ull << 30}, NewTestCode());
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

// Except what each SM keeps for its next block: up to 32 stacks with a guard each.
TEST(Holdings, StacksOfBlocksThatStoodStillGoWithTheirClientThoughOthersStay) {
  if (!guest::kAsyncLeave) GTEST_SKIP() << "the sanitizer keeps memory of its own";
  constexpr uint32_t kSms = 2;
  const auto backend = CreateCpuBackend({.devices = 1, .sms = kSms, .memory_bytes = 1ull << 30}, NewTestCode());
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

// Counts what is in memory of what it has loaded.
class CountedCode final : public CodeSource {
 public:
  std::atomic<int> loaded{0};
  Result<std::shared_ptr<const module::ModuleIndex>> Index(std::span<const uint8_t> image,
                                                           const Cancelled& cancelled) override {
    return source_->Index(image, cancelled);
  }
  Result<std::shared_ptr<const LoadedKernel>> Kernel(std::span<const uint8_t> image, const module::ModuleIndex& index,
                                                     uint32_t kernel, const uint32_t block[3],
                                                     const Cancelled& cancelled) override {
    TUTTI_ASSIGN(const auto code, source_->Kernel(image, index, kernel, block, cancelled));
    struct Counted : LoadedKernel {
      explicit Counted(std::atomic<int>* now) : count(now) { ++*count; }
      ~Counted() override { --*count; }
      std::atomic<int>* const count;
    };
    auto counted = std::make_shared<Counted>(&loaded);
    counted->descriptor = code->descriptor;
    return counted;
  }

 private:
  std::shared_ptr<CodeSource> source_ = NewTestCode();
};

class LoadedKernels : public testing::Test {
 protected:
  static constexpr uint32_t kMost = 8;
  // As the server does.
  void Launch(uint32_t kernel, uint32_t stream, std::vector<uint64_t> arguments) {
    arguments.resize(4);
    const auto* const bytes = reinterpret_cast<const uint8_t*>(arguments.data());
    const Grid grid{.kernel = kernel, .block = {1, 1, 1}, .arguments = {bytes, arguments.size() * sizeof(uint64_t)}};
    const uint64_t ticket = client_.next_ticket();
    Status launched;
    for (;; ++loads_) {
      launched = client_.space().Launch(stream, ticket, grid);
      EXPECT_LE(code_->loaded, static_cast<int>(kMost));
      if (launched || launched.error().code != kNotLoaded) break;
      client_.space().LoadAgain(kernel);
    }
    EXPECT_TRUE(launched);
  }
  uint32_t Prepare(const char* name, uint32_t shape) {
    const auto module = client_.space().LoadModule(0, std::vector<uint8_t>(name, name + std::strlen(name)));
    const uint32_t block[3] = {1 + shape % 64, 1 + shape / 64, 1};  // its code is the same for all
    const auto kernel = client_.space().Prepare(module->id, 0, block);
    EXPECT_TRUE(kernel) << kernel.error().text;
    return kernel->id;
  }

  const std::shared_ptr<CountedCode> code_ = std::make_shared<CountedCode>();
  const std::unique_ptr<Backend> backend_ =
      CreateCpuBackend({.devices = 1, .sms = 1, .memory_bytes = 1ull << 30, .loaded_kernels = kMost}, code_);
  Client client_{backend_.get()};
  uint32_t loads_ = 0;
};

TEST_F(LoadedKernels, AnyNumberOfThemRunsInTurnAndFewAreInMemory) {
  constexpr uint32_t kKernels = 50, kRounds = 3;
  std::vector<uint32_t> kernels;
  for (uint32_t shape = 0; shape < kKernels; ++shape) kernels.push_back(Prepare("add", shape));
  auto* const sum = client_.Array<uint64_t>(1);
  client_.CreateStream(1);
  for (uint32_t round = 0; round < kRounds; ++round) {
    for (const uint32_t kernel : kernels) Launch(kernel, 1, {reinterpret_cast<uint64_t>(sum), 1});
  }
  ASSERT_TRUE(client_.Synchronize(1));
  EXPECT_EQ(*sum, kKernels * kRounds);
  EXPECT_GE(loads_, kKernels - kMost);
  EXPECT_TRUE(client_.sink().faults().empty());
}

TEST_F(LoadedKernels, ThoseThatAreInStreamsStayAndThoseThatWereLaunchedLastToo) {
  auto* const words = client_.Array<uint64_t>(3);
  const auto flag = reinterpret_cast<uint64_t>(words);
  const uint32_t waits = Prepare("wait", 0), often = Prepare("add", 0);
  client_.CreateStream(1);
  client_.CreateStream(2);
  Launch(waits, 1, {flag, flag + 8});
  for (uint32_t shape = 1; shape < 40; ++shape) {
    Launch(Prepare("add", shape), 2, {flag + 16, 1});
    const uint32_t before = loads_;
    Launch(often, 2, {flag + 16, 1});
    EXPECT_EQ(loads_, before) << "it was launched a moment ago";
  }
  ASSERT_TRUE(client_.Synchronize(2));
  const uint32_t before = loads_;
  Launch(waits, 1, {flag, flag + 8});
  EXPECT_EQ(loads_, before) << "it has run all the time";
  std::atomic_ref(words[0]).store(1);
  ASSERT_TRUE(client_.Synchronize(1));
  EXPECT_EQ(words[1], 2u);
  EXPECT_EQ(words[2], 78u);
}

TEST_F(LoadedKernels, UnloadedModulesLeaveTheirRoom) {
  for (uint32_t i = 0; i < 5 * kMost; ++i) {
    const auto module = client_.space().LoadModule(0, std::vector<uint8_t>{'a', 'd', 'd'});
    const uint32_t block[3] = {1 + i % 3, 1, 1};
    ASSERT_TRUE(client_.space().Prepare(module->id, 0, block));
    ASSERT_TRUE(client_.space().UnloadModule(module->id));
    EXPECT_EQ(code_->loaded, 0);
  }
}

// Waits, when it is given back, until it may.
class HeldCode final : public CodeSource {
 public:
  std::atomic<int> held{0};
  std::atomic<bool> may_go{false};
  Result<std::shared_ptr<const module::ModuleIndex>> Index(std::span<const uint8_t> image,
                                                           const Cancelled& cancelled) override {
    return source_->Index(image, cancelled);
  }
  Result<std::shared_ptr<const LoadedKernel>> Kernel(std::span<const uint8_t> image, const module::ModuleIndex& index,
                                                     uint32_t kernel, const uint32_t block[3],
                                                     const Cancelled& cancelled) override {
    TUTTI_ASSIGN(const auto code, source_->Kernel(image, index, kernel, block, cancelled));
    struct Held : LoadedKernel {
      explicit Held(HeldCode* by) : source(by) {}
      ~Held() override {
        ++source->held;
        source->may_go.wait(false);
      }
      HeldCode* const source;
    };
    auto held = std::make_shared<Held>(this);
    held->descriptor = code->descriptor;
    return held;
  }

 private:
  std::shared_ptr<CodeSource> source_ = NewTestCode();
};

// An SM gives back what a client has unloaded while its kernel ran. That may take long: other clients' kernels begin.
TEST(Holdings, NobodyWaitsForAnSmThatGivesBack) {
  const auto code = std::make_shared<HeldCode>();
  const auto backend = CreateCpuBackend({.devices = 1, .sms = 4, .cores = 1, .memory_bytes = 1ull << 30}, code);
  Client gives(backend.get()), other(backend.get());
  gives.CreateStream(1);
  other.CreateStream(1);
  auto* const flag = gives.Array<uint64_t>(2);
  auto* const sum = other.Array<uint64_t>(1);
  const uint32_t add = other.Kernel("add");
  const std::string_view image = "wait";
  const auto module = gives.space().LoadModule(0, std::vector<uint8_t>(image.begin(), image.end()));
  const uint32_t block[3] = {1, 1, 1};
  const auto waits = gives.space().Prepare(module->id, 0, block);
  gives.Launch(1, waits->id, 1, 1, {reinterpret_cast<uint64_t>(flag), reinterpret_cast<uint64_t>(flag + 1)});
  ASSERT_TRUE(gives.space().UnloadModule(module->id));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // for the others to fall asleep
  std::atomic_ref(flag[0]).store(1);
  while (code->held == 0) std::this_thread::yield();
  other.Launch(1, add, 1, 1, {reinterpret_cast<uint64_t>(sum), 1});
  EXPECT_TRUE(other.Synchronize(1));
  EXPECT_EQ(*sum, 1u);
  code->may_go = true;
  code->may_go.notify_all();
}

// What a client has unloaded costs it nothing, however much that was: programs that compile as they go run for weeks.
TEST(Holdings, AClientMayLoadAndUnloadForEver) {
  if (guest::kSanitized) GTEST_SKIP() << "the sanitizer keeps memory of its own";
  const auto backend = CreateCpuBackend({.devices = 1, .sms = 1, .memory_bytes = 1ull << 30}, NewTestCode());
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

TEST(Holdings, SmsAreWokenForMuchOnlyAndWithTheLastClient) {
  BlockPool pool;
  EXPECT_FALSE(pool.ClientEnded(true)) << "what they hold is little";
  pool.NoteMuchHeld();
  EXPECT_FALSE(pool.ClientEnded(false));
  const uint32_t before = pool.generation();
  EXPECT_TRUE(pool.ClientEnded(true));
  EXPECT_NE(pool.generation(), before);
  EXPECT_FALSE(pool.ClientEnded(true)) << "that has been given back";
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
