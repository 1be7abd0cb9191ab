// Spaces whose executors are lost or hang, with our own driver as the vendor's.
#include "device/gpu/gpu_space.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include "cuda/device_attribute.h"
#include "cuda/limits.h"
#include "cuda/result.h"
#include "device/cts/client.h"
#include "device/cts/images.h"
#include "device/gpu/gpu_backend.h"
#include "device/gpu/slabs.h"
#include "device/gpu/testing/stop_process.h"

namespace tutti::device::gpu {
namespace {

using cts::Client;

constexpr uint64_t kMiB = 1 << 20;

class GpuSpaceTest : public testing::Test {
 protected:
  void SetUp() override {
    setenv("TUTTI_CPU_MEMORY", "64M", 1);
    setenv("TUTTI_CPU_SMS", "2", 1);
    const GpuSettings settings{.executor = TUTTI_EXECUTOR, .vendor = TUTTI_LIBCUDA, .most_programs = 2};
    spawner_ = os::Spawner::Start({settings.ProgramOf()}).value();
    auto backend = CreateGpuBackend(settings, spawner_);
    ASSERT_TRUE(backend) << backend.error().text;
    backend_ = std::move(*backend);
  }

  // A client and its executor: the one that was started first of those that nobody has.
  struct Served {
    std::unique_ptr<Client> client;
    pid_t executor = 0;
    uint64_t address = 0;
  };
  Served Serve() {
    Served served{.client = std::make_unique<Client>(backend_.get()), .executor = 0, .address = 0};
    served.client->CreateStream(1);
    served.address = served.client->Allocate(kMiB);  // its executor has come
    std::ifstream children("/proc/" + std::to_string(spawner_->pid()) + "/task/" + std::to_string(spawner_->pid()) +
                           "/children");
    for (pid_t child = 0; children >> child;) {
      if (std::ranges::find(taken_, child) != taken_.end()) continue;
      taken_.push_back(served.executor = child);
      break;
    }
    return served;
  }

  // Until the driver has all that the executor was given.
  static void AwaitGiven(Client& client) {
    client.CreateStream(9);
    client.Launch(9, client.Kernel(cts::kAdd), 1, 1, {client.Allocate(sizeof(uint64_t)), 1, 0, 0});
    client.Synchronize(9);
    ASSERT_TRUE(client.space().DestroyStream(9));
  }
  // In stream 1: a client with it does not go on in another executor.
  static void RunWithoutEnd(Client& client) {
    client.Launch(1, client.Kernel(cts::kAwait), 1, 1, {client.Allocate(sizeof(uint64_t)), 0, 0, 0});
    AwaitGiven(client);
  }

  std::shared_ptr<os::Spawner> spawner_;
  std::unique_ptr<Backend> backend_;
  std::vector<pid_t> taken_;
};

TEST_F(GpuSpaceTest, AnExecutorThatEndsWithAKernelIsItsClientsFaultAndIsReplacedByAReset) {
  Served lost = Serve(), other = Serve();
  Client& client = *lost.client;
  const auto host = client.space().Allocate(0, wire::MemoryKind::kHost, kMiB, 0);
  ASSERT_TRUE(host) << host.error().text;
  std::memset(client.space().Reached(*host, kMiB), 0x5a, kMiB);
  ASSERT_TRUE(client.Computes());

  RunWithoutEnd(client);
  kill(lost.executor, SIGKILL);
  ASSERT_TRUE(client.sink().WaitFaults(1));
  EXPECT_EQ(client.sink().faults()[0].status, cuda::CUDA_ERROR_DEVICE_UNAVAILABLE);
  EXPECT_FALSE(client.space().Allocate(0, wire::MemoryKind::kDevice, kMiB, 0)) << "there is no device any more";
  EXPECT_TRUE(client.Synchronize(1)) << "nothing waits";
  EXPECT_TRUE(other.client->Computes());

  client.space().Reset(0);
  EXPECT_TRUE(client.Computes());
  EXPECT_EQ(client.Read(*host, kMiB), std::vector<uint8_t>(kMiB, 0x5a)) << "memory of the host stays";
  EXPECT_TRUE(client.space().Free(lost.address)) << "what was not freed is still allocated";
  EXPECT_EQ(client.sink().faults().size(), 1u);
  EXPECT_TRUE(other.client->Computes());
}

// A stream that waited for another one's host function goes on as everything fails, and notes an event.
TEST_F(GpuSpaceTest, NothingIsGivenToAnExecutorThatIsLost) {
  Served lost = Serve();
  Client& client = *lost.client;
  client.CreateStream(2);
  const uint32_t await = client.Kernel(cts::kAwait);
  ASSERT_TRUE(client.space().HostCall(2, client.next_ticket(), 1));
  const uint64_t behind = client.Mark(2);
  ASSERT_TRUE(client.sink().WaitHostCalls(1));
  client.Launch(1, await, 1, 1, {client.Allocate(sizeof(uint64_t)), 0, 0, 0});
  ASSERT_TRUE(client.space().Wait(1, client.next_ticket(), 2, behind));
  constexpr uint32_t kEvents = 2000;  // more than a page of records
  for (uint32_t event = 0; event < kEvents; ++event)
    ASSERT_TRUE(client.space().RecordEvent(1, client.next_ticket(), event % 100));
  AwaitGiven(client);
  kill(lost.executor, SIGKILL);
  ASSERT_TRUE(client.sink().WaitFaults(1));
  EXPECT_TRUE(client.Synchronize(1));
}

TEST_F(GpuSpaceTest, MoreProgramsThanThereCanBeExecutorsAreRefused) {
  const Served served = Serve();
  cts::RecordingSink sink;
  auto last = backend_->CreateSpace({}, &sink, "last");
  ASSERT_TRUE(last) << last.error().text;
  EXPECT_EQ(backend_->CreateSpace({}, &sink, "one too many").error().code, cuda::CUDA_ERROR_MPS_MAX_CLIENTS_REACHED);
  last->reset();
  EXPECT_TRUE(backend_->CreateSpace({}, &sink, "in its place"));
}

TEST_F(GpuSpaceTest, AnExecutorThatHangsHoldsUpItsClientAlone) {
  Served hangs = Serve(), other = Serve();
  Client& client = *hangs.client;
  const auto freed = client.space().Allocate(0, wire::MemoryKind::kDevice, 4 * kMiB, 0);
  ASSERT_TRUE(freed);
  StopProcess(hangs.executor);
  ASSERT_TRUE(client.space().Free(*freed)) << "what the executor is to be asked is not waited for";
  const uint64_t behind = client.next_ticket();
  ASSERT_TRUE(
      client.space().Fill(1, behind, {.destination = hangs.address, .width = 64, .height = 1, .element_bytes = 1}));
  std::atomic<bool> allocated{false};
  std::thread waits(
      [&] { allocated = client.space().Allocate(0, wire::MemoryKind::kDevice, 4 * kMiB, 0).has_value(); });
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(other.client->Computes());
  EXPECT_FALSE(allocated);
  EXPECT_FALSE(client.sink().IsDone(1, behind));
  kill(hangs.executor, SIGCONT);
  waits.join();
  EXPECT_TRUE(allocated);
  EXPECT_TRUE(client.Synchronize(1));
  EXPECT_TRUE(client.Computes());
}

// The memory of a client of another one's, at addresses of its own.
uint64_t Show(Client& client, const std::shared_ptr<SharedMemory>& memory) {
  const auto at = client.space().Reserve(0, memory->bytes(), 0, 0);
  if (!at || !client.space().Map(*at, memory, true)) return 0;
  return *at;
}

TEST_F(GpuSpaceTest, WhatIsSharedOutlivesTheExecutorsOfAllThatHaveIt) {
  Served giver = Serve(), taker = Serve();
  const std::vector<uint8_t> bytes(kSlabBytes, 0x5a);
  const uint64_t home = giver.client->Allocate(kSlabBytes), alone = giver.client->Allocate(kSlabBytes);
  giver.client->Write(home, bytes);
  giver.client->Write(alone, bytes);
  const auto shared = giver.client->space().Share(home, Space::AtEnd::kKept).value();
  const uint64_t at = Show(*taker.client, shared), again = Show(*giver.client, shared);
  ASSERT_NE(at, 0u);
  ASSERT_NE(again, 0u);
  for (const Served* const lost : {&giver, &taker}) {
    RunWithoutEnd(*lost->client);
    kill(lost->executor, SIGKILL);
    ASSERT_TRUE(lost->client->sink().WaitFaults(1));
    lost->client->space().Reset(0);
  }
  EXPECT_EQ(taker.client->Read(at, kSlabBytes), bytes);
  EXPECT_EQ(giver.client->Read(alone, kSlabBytes), std::vector<uint8_t>(kSlabBytes)) << "what is not shared is lost";
  taker.client->Write(at, std::vector<uint8_t>(100, 7));
  for (const uint64_t place : {home, again})
    EXPECT_EQ(giver.client->Read(place, 100), std::vector<uint8_t>(100, 7)) << "it is the same memory everywhere";
}

TEST_F(GpuSpaceTest, AMistakeWithMemoryOfAnotherClientIsItsOwn) {
  Served giver = Serve(), taker = Serve();
  const uint64_t home = giver.client->Allocate(kSlabBytes);
  const auto shared = giver.client->space().Share(home, Space::AtEnd::kKept).value();
  taker.client->Write(taker.address, std::vector<uint8_t>(64, 7));
  const uint64_t at = taker.client->space().Reserve(0, 2 * kSlabBytes, 0, 0).value();
  ASSERT_TRUE(taker.client->space().Map(at, shared, false));
  const auto fill = [&](uint64_t address, uint64_t width) {
    return taker.client->space().Fill(1, taker.client->next_ticket(),
                                      {.destination = address, .width = width, .height = 1, .element_bytes = 1});
  };
  ASSERT_TRUE(fill(at, 64)) << "it may only be read there";
  ASSERT_TRUE(taker.client->sink().WaitFaults(1));
  EXPECT_EQ(taker.client->sink().faults()[0].status, cuda::CUDA_ERROR_ILLEGAL_ADDRESS);
  taker.client->space().Reset(0);
  ASSERT_TRUE(taker.client->space().Map(at, shared, true));
  ASSERT_TRUE(fill(at + kSlabBytes - 8, 16)) << "behind its end nothing is mapped";
  ASSERT_TRUE(taker.client->sink().WaitFaults(2));
  taker.client->space().Reset(0);
  ASSERT_TRUE(fill(at, 64));
  EXPECT_TRUE(taker.client->Synchronize(1));
  EXPECT_EQ(taker.client->Read(taker.address, 64), std::vector<uint8_t>(64, 7)) << "its executor has noticed nothing";
  EXPECT_EQ(giver.client->Read(home, 64), std::vector<uint8_t>(64));
  EXPECT_EQ(giver.client->sink().faults().size(), 0u);
  EXPECT_TRUE(giver.client->Computes());
}

TEST_F(GpuSpaceTest, MemoryOfAClientThatHasGoneCountsWhileOthersHoldIt) {
  Served giver = Serve(), taker = Serve();
  const uint64_t before = backend_->memory(0).used_bytes();
  const uint64_t home = giver.client->Allocate(kSlabBytes);
  giver.client->Write(home, std::vector<uint8_t>(100, 7));
  auto shared = giver.client->space().Share(home, Space::AtEnd::kKept).value();
  const uint64_t at = Show(*taker.client, shared);
  giver.client->Destroy();
  EXPECT_TRUE(shared->withdrawn());
  shared.reset();
  EXPECT_EQ(backend_->memory(0).used_bytes(), before - kMiB + kSlabBytes);
  EXPECT_EQ(taker.client->Read(at, 100), std::vector<uint8_t>(100, 7));
  ASSERT_TRUE(taker.client->space().Unmap(at, kSlabBytes));
  EXPECT_EQ(backend_->memory(0).used_bytes(), before - kMiB);
}

TEST_F(GpuSpaceTest, MappingsDoNotOverlap) {
  Served served = Serve();
  Space& space = served.client->space();
  const auto two = space.Share(served.client->Allocate(2 * kSlabBytes), Space::AtEnd::kKept).value();
  const auto one = space.Share(served.client->Allocate(kSlabBytes), Space::AtEnd::kKept).value();
  const uint64_t at = space.Reserve(0, 4 * kSlabBytes, 0, 0).value();
  ASSERT_TRUE(space.Map(at + kSlabBytes, two, true));
  for (const uint64_t place : {at + kSlabBytes, at + 2 * kSlabBytes, at + 4 * kSlabBytes})
    EXPECT_EQ(space.Map(place, one, true).error().code, cuda::CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(space.Map(at, two, true).error().code, cuda::CUDA_ERROR_INVALID_VALUE);
  EXPECT_TRUE(space.Map(at, one, true));
  EXPECT_TRUE(space.Map(at + 3 * kSlabBytes, one, true));
  for (const uint64_t half : {at + kSlabBytes, at + 2 * kSlabBytes}) EXPECT_FALSE(space.Unmap(half, kSlabBytes));
  EXPECT_TRUE(space.Unmap(at, 4 * kSlabBytes));
  EXPECT_TRUE(served.client->Computes());
}

TEST_F(GpuSpaceTest, AFewSmallAllocationsCanBeSharedAndManyTakeNoSlabEach) {
  Served giver = Serve(), taker = Serve();
  std::vector<uint64_t> small;
  for (int i = 0; i < 200; ++i) small.push_back(giver.client->Allocate(100));
  giver.client->Write(small.front(), std::vector<uint8_t>(100, 7));
  const uint64_t at = Show(*taker.client, giver.client->space().Share(small.front(), Space::AtEnd::kKept).value());
  EXPECT_EQ(taker.client->Read(at, 100), std::vector<uint8_t>(100, 7));
  EXPECT_EQ(giver.client->space().Share(small.back(), Space::AtEnd::kKept).error().code, cuda::CUDA_ERROR_NOT_SUPPORTED)
      << "its neighbours would be shared with it";
  EXPECT_LT(small.back() - small.front(), 32 * kSlabBytes);
}

TEST_F(GpuSpaceTest, MemoryThatItsClientHasFreedCountsAsItsOwnWhileOthersHoldIt) {
  Served giver = Serve(), taker = Serve();
  giver.client->space().SetLimits({.memory_bytes = {kMiB + 2 * kSlabBytes}});
  const uint64_t home = giver.client->Allocate(2 * kSlabBytes);
  auto shared = giver.client->space().Share(home, Space::AtEnd::kKept).value();
  const uint64_t at = Show(*taker.client, shared);
  shared.reset();
  ASSERT_TRUE(giver.client->space().Free(home));
  const auto more = [&] { return giver.client->space().Allocate(0, wire::MemoryKind::kDevice, kSlabBytes, 0); };
  EXPECT_EQ(more().error().code, cuda::CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_TRUE(taker.client->space().Unmap(at, 2 * kSlabBytes));
  EXPECT_TRUE(more());
}

// Beside managed variables some names are the rewritten image's own: not all that begin like those.
TEST_F(GpuSpaceTest, VariablesOfAnyNameCount) {
  constexpr std::string_view kImage =
      ".version 7.0\n.target sm_70\n.address_size 64\n"
      ".visible .global .attribute(.managed) .u32 m;\n"
      ".visible .global .align 8 .b8 __tutti_big[8388608];\n"
      ".visible .entry k() { .reg .b32 %v; ld.global.u32 %v, [__tutti_big]; st.global.u32 [m], %v; ret; }\n";
  Served served = Serve();
  Client& client = *served.client;
  const uint64_t before = client.sink().memory_used(0);
  const auto module = client.space().LoadModule(0, {reinterpret_cast<const uint8_t*>(kImage.data()), kImage.size()});
  ASSERT_TRUE(module) << module.error().text;
  EXPECT_GE(client.sink().memory_used(0), before + 8 * kMiB);
}

TEST_F(GpuSpaceTest, WhatALimitOfTheContextTakesCounts) {
  Served served = Serve();
  Client& client = *served.client;
  const auto limit_heap = [&](uint64_t above_default) {
    const uint64_t bytes = cuda::kDefaultLimits[cuda::CU_LIMIT_MALLOC_HEAP_SIZE] + above_default;
    ASSERT_TRUE(client.space().SetKernelLimit(0, cuda::CU_LIMIT_MALLOC_HEAP_SIZE, bytes));
  };
  const uint64_t before = client.sink().memory_used(0);
  limit_heap(16 * kMiB);
  EXPECT_EQ(client.sink().memory_used(0), before + 16 * kMiB);
  limit_heap(1ull << 40);
  EXPECT_EQ(client.sink().memory_used(0), before + 16 * kMiB) << "more than there is: it stays as it was";
  limit_heap(4 * kMiB);
  EXPECT_EQ(client.sink().memory_used(0), before + 4 * kMiB);
  const uint64_t stack = cuda::kDefaultLimits[cuda::CU_LIMIT_STACK_SIZE];
  ASSERT_TRUE(client.space().SetKernelLimit(0, cuda::CU_LIMIT_STACK_SIZE, stack + 512));
  const auto& attributes = backend_->devices()[0].attributes;
  const auto threads = static_cast<uint64_t>(attributes[cuda::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT]) *
                       static_cast<uint64_t>(attributes[cuda::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR]);
  EXPECT_EQ(client.sink().memory_used(0), before + 4 * kMiB + 512 * threads) << "a stack for each thread";
  ASSERT_TRUE(client.space().SetKernelLimit(0, cuda::CU_LIMIT_STACK_SIZE, ~0ull));
  EXPECT_EQ(client.sink().memory_used(0), before + 4 * kMiB + 512 * threads);
  client.space().Reset(0);
  EXPECT_EQ(client.sink().memory_used(0), before) << "a fresh context has other limits";
  EXPECT_TRUE(client.sink().faults().empty());
}

TEST_F(GpuSpaceTest, TheTimeOfKernelsOnTheGpuCounts) {
  Served served = Serve(), copies = Serve();
  const auto counted = [](const Served& of, metrics::Counter counter) {
    return of.client->space().counters(0).Get(counter);
  };
  const uint64_t word = served.client->Allocate(sizeof(uint64_t));
  served.client->Launch(1, served.client->Kernel(cts::kAwait), 1, 1, {word, 0, 0, 0});
  while (counted(served, metrics::Counter::device_ns) < 20'000'000) std::this_thread::yield();  // of two SMs
  while (counted(copies, metrics::Counter::wanted_ns) == 0)
    copies.client->Write(copies.address, std::vector<uint8_t>(kMiB));
  served.client->CreateStream(2);
  served.client->Launch(2, served.client->Kernel(cts::kAdd), 1, 1, {word, 1, 0, 0});
  ASSERT_TRUE(served.client->Synchronize(1));
  EXPECT_EQ(counted(copies, metrics::Counter::device_ns), 0u) << "copies from the host take no SM";
  const wire::FillBody fill = {.destination = copies.address,
                               .width = kMiB,
                               .height = 1,
                               .pitch = kMiB,
                               .value = 0,
                               .element_bytes = 1,
                               .reserved = 0};
  ASSERT_TRUE(copies.client->space().Fill(1, copies.client->next_ticket(), fill));
  ASSERT_TRUE(copies.client->Synchronize(1));
  EXPECT_GT(counted(copies, metrics::Counter::device_ns), 0u) << "fills do";
}

TEST_F(GpuSpaceTest, KernelsTooShortForALookCountAsLongOnes) {
  Served served = Serve();
  const auto counted = [&] { return served.client->space().counters(0).Get(metrics::Counter::device_ns); };
  const uint64_t counter = served.client->Allocate(sizeof(uint32_t));
  const uint32_t add = served.client->Kernel(cts::kAdd);
  for (int i = 0; i < 100; ++i) {
    const uint64_t before = counted();
    served.client->Launch(1, add, 1, 1, {counter, 1, 0, 0});
    ASSERT_TRUE(served.client->Synchronize(1));
    ASSERT_GT(counted(), before) << i;
  }
}

TEST_F(GpuSpaceTest, AResetDoesNotWaitForWhatALimitHoldsBack) {
  Served served = Serve();
  Client& client = *served.client;
  client.space().SetLimits({.active_thread_percentage = 0.1});
  const uint32_t add = client.Kernel(cts::kAdd);
  for (int i = 0; i < 2000; ++i) client.Launch(1, add, 64, 64, {served.address, 1, 0, 0});
  const auto since = std::chrono::steady_clock::now();
  client.space().Reset(0);
  EXPECT_LT(std::chrono::steady_clock::now() - since, std::chrono::seconds(15)) << "patience with what runs: 20 s";
  EXPECT_TRUE(client.Synchronize(1));
  client.space().SetLimits({});
  EXPECT_TRUE(client.Computes());
}

TEST_F(GpuSpaceTest, APercentageIsThatPartOfTheTime) {
  Served limited = Serve(), other = Serve();
  limited.client->space().SetLimits({.active_thread_percentage = 1});
  const metrics::ClientCounters& counters = limited.client->space().counters(0);
  const uint32_t add = limited.client->Kernel(cts::kAdd);
  while (counters.Get(metrics::Counter::throttles) == 0) {
    limited.client->Launch(1, add, 64, 64, {limited.address, 1, 0, 0});
    ASSERT_TRUE(limited.client->Synchronize(1));
  }
  EXPECT_TRUE(limited.client->Computes()) << "all of it is done, whenever";
  const uint64_t throttled = counters.Get(metrics::Counter::throttles);
  limited.client->space().SetLimits({});
  EXPECT_TRUE(limited.client->Computes());
  EXPECT_EQ(counters.Get(metrics::Counter::throttles), throttled);
  EXPECT_TRUE(other.client->Computes());
}

TEST_F(GpuSpaceTest, AKernelThatWaitsForAnotherOneIsGivenItWhateverTheLimit) {
  Served served = Serve();
  Client& client = *served.client;
  const uint64_t word = client.Allocate(sizeof(uint64_t));
  const uint32_t await = client.Kernel(cts::kAwait), add = client.Kernel(cts::kAdd);
  client.CreateStream(2);
  client.space().SetLimits({.active_thread_percentage = 1});
  client.Launch(1, await, 1, 1, {word, 0, 0, 0});
  const auto is_closed = [&] { return client.space().counters(0).Get(metrics::Counter::throttles) != 0; };
  while (!is_closed()) std::this_thread::yield();
  client.Launch(2, add, 1, 1, {word, 1, 0, 0});
  EXPECT_TRUE(client.Synchronize(1));
}

TEST_F(GpuSpaceTest, AClientBelowNormalWaitsForNormalOnes) {
  Served normal = Serve(), below = Serve();
  below.client->space().SetLimits({.priority = 1});
  const uint64_t word = normal.client->Allocate(sizeof(uint64_t));
  normal.client->Launch(1, normal.client->Kernel(cts::kAwait), 1, 1, {word, 0, 0, 0});
  const metrics::ClientCounters& counters = normal.client->space().counters(0);
  while (counters.Get(metrics::Counter::wanted_ns) == 0) std::this_thread::yield();  // it is on the GPU
  const uint64_t counter = below.client->Allocate(sizeof(uint64_t));
  below.client->Launch(1, below.client->Kernel(cts::kAdd), 1, 1, {counter, 1, 0, 0});
  const uint64_t behind = below.client->Mark(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(below.client->sink().IsDone(1, behind));
  normal.client->CreateStream(2);
  normal.client->Launch(2, normal.client->Kernel(cts::kAdd), 1, 1, {word, 1, 0, 0});
  EXPECT_TRUE(normal.client->Synchronize(1));
  EXPECT_TRUE(below.client->sink().WaitDone(1, behind));
}

TEST_F(GpuSpaceTest, AKernelThatRunsForLongerThanItsLimitEndsAloneWithItsExecutor) {
  Served endless = Serve(), patient = Serve();
  const auto spin = [](Served& served) {
    const uint64_t word = served.client->Allocate(sizeof(uint64_t));
    served.client->Launch(1, served.client->Kernel(cts::kAwait), 1, 1, {word, 0, 0, 0});
    return word;
  };
  const uint64_t word = spin(patient);
  spin(endless);
  endless.client->space().SetLimits({.kernel_ns = 20'000'000});
  ASSERT_TRUE(endless.client->sink().WaitFaults(1));
  EXPECT_EQ(endless.client->sink().faults()[0].status, cuda::CUDA_ERROR_LAUNCH_TIMEOUT);
  EXPECT_TRUE(endless.client->Synchronize(1));
  EXPECT_TRUE(patient.client->sink().faults().empty()) << "it has no limit";
  endless.client->space().SetLimits({});  // on a busy machine any kernel may take that long
  endless.client->space().Reset(0);
  EXPECT_TRUE(endless.client->Computes());
  patient.client->CreateStream(2);
  patient.client->Launch(2, patient.client->Kernel(cts::kAdd), 1, 1, {word, 1, 0, 0});
  EXPECT_TRUE(patient.client->Synchronize(1));
}

}  // namespace
}  // namespace tutti::device::gpu
