// Limits on a real device: that they hold. Which part a client gets is tested in simulated time (shares_test.cc), and
// measured by `./dev bench shares`.
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "cuda/result.h"
#include "device/cpu/cpu_backend.h"
#include "device/cpu/testing/test_kernels.h"
#include "device/cts/client.h"
#include "guest/exec/sanitizers.h"
#include "wire/backlog.h"

namespace tutti::device::cpu {
namespace {

using cts::Client;
using metrics::Counter;

constexpr uint32_t kSms = 2;

std::unique_ptr<Backend> NewBackend(uint64_t memory_bytes = 4ull << 30) {
  return CreateCpuBackend({.devices = 1, .sms = kSms, .memory_bytes = memory_bytes}, NewTestCode());
}

// Gives the client more than enough to do on `streams` streams: blocks of 50 us.
void GiveWork(Client& client, uint32_t streams = 1, StreamOptions options = {.non_blocking = true}) {
  for (uint32_t stream = 1; stream <= streams; ++stream) {
    client.CreateStream(stream, options);
    client.Launch(stream, client.Kernel("slow"), 1'000'000, 32, {client.Allocate(8), 50'000});
  }
}

// Until the client has had to wait for its part once more.
void AwaitThrottling(Client& client) {
  const metrics::ClientCounters& counters = client.space().counters(0);
  for (const uint64_t before = counters.Get(Counter::throttles); counters.Get(Counter::throttles) == before;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// Of 23 GiB of memory: the windows of the first ones are of 256 GiB.
TEST(Limits, WhoComesLateHasASmallerWindowRatherThanNone) {
  const auto backend = NewBackend(23ull << 30);
  if (backend->large_spaces() == backend->most_spaces()) GTEST_SKIP() << "too few addresses for two sizes";
  std::vector<std::unique_ptr<Client>> clients;
  const auto bytes = [&] { return clients.back()->space().window().bytes; };
  do clients.push_back(std::make_unique<Client>(backend.get()));
  while (bytes() == clients[0]->space().window().bytes && clients.size() < backend->most_spaces());
  EXPECT_LT(bytes(), clients[0]->space().window().bytes);
  EXPECT_EQ(clients.size(), backend->large_spaces() + 1);
  for (Client* const client : {clients[0].get(), clients.back().get()}) {
    client->CreateStream(1);
    const uint64_t out = client->Allocate(8 * 32);
    client->Launch(1, client->Kernel("slow"), 1, 32, {out, 1});
    EXPECT_TRUE(client->Synchronize(1));
  }
  const uint64_t small = bytes();
  const uint64_t much = clients[0]->space().window().device_bytes / 4;
  EXPECT_FALSE(clients.back()->space().Allocate(0, wire::MemoryKind::kDevice, much, 0));
  EXPECT_TRUE(clients[0]->space().Allocate(0, wire::MemoryKind::kDevice, much, 0));
  clients.clear();
  EXPECT_EQ(Client(backend.get(), {.small_window = true}).space().window().bytes, small);
}

// How large a part it is: shares_test.cc.
TEST(Limits, APercentageHoldsFromWhenItIsSet) {
  const auto backend = NewBackend();
  Client client(backend.get());
  GiveWork(client);
  client.space().SetLimits({.active_thread_percentage = 10});
  AwaitThrottling(client);
  client.space().SetLimits({.active_thread_percentage = 60});
  AwaitThrottling(client);
}

TEST(Limits, AContextsCapHoldsForItsStreams) {
  const auto backend = NewBackend();
  Client client(backend.get());
  ASSERT_TRUE(client.space().LimitContext(0, 7, 0.1));
  GiveWork(client, 3, {.context = 7, .non_blocking = true});
  AwaitThrottling(client);
}

TEST(Limits, BlocksStayOnTheSmsOfTheirPartition) {
  const auto backend = NewBackend();
  (void)backend->SetPolicy(Policy::kPartition);
  backend->SetTracing(true);
  Client left(backend.get(), {.sm_ranges = {{.device = 0, .first_sm = 0, .count = 1}}}, "left");
  Client right(backend.get(), {.sm_ranges = {{.device = 0, .first_sm = 1, .count = 1}}}, "right");
  for (Client* client : {&left, &right}) {
    client->CreateStream(1);
    client->Launch(1, client->Kernel("slow"), 40, 32, {client->Allocate(8), 100'000});
  }
  ASSERT_TRUE(left.Synchronize(1));
  ASSERT_TRUE(right.Synchronize(1));
  std::set<uint32_t> left_sms, right_sms;
  for (const auto& event : backend->TakeTrace()) (event.label == "left" ? left_sms : right_sms).insert(event.sm);
  EXPECT_EQ(left_sms, std::set<uint32_t>{0});
  EXPECT_EQ(right_sms, std::set<uint32_t>{1});
}

TEST(Limits, AnUrgentKernelDoesNotWaitForBlocksThatNeverEnd) {
  if (!guest::kAsyncLeave) GTEST_SKIP() << "no preemption under this sanitizer";
  for (const Policy policy : {Policy::kShare, Policy::kPriority, Policy::kTimeSlice}) {
    const auto backend = NewBackend();
    (void)backend->SetPolicy(policy);
    Client low(backend.get(), {.priority = 1}), normal(backend.get());
    low.CreateStream(1);
    low.Launch(1, low.Kernel("endless"), 10, 32, {});
    normal.CreateStream(1);
    // Until it has been seen to run, and to give way.
    while (low.space().counters(0).Get(Counter::preemptions) == 0) {
      normal.Launch(1, normal.Kernel("empty"), 4, 32, {});
      ASSERT_TRUE(normal.Synchronize(1));
    }
  }
}

TEST(Limits, AnUrgentStreamGoesBeforeTheOthersOfItsClient) {
  if (!guest::kAsyncLeave) GTEST_SKIP() << "no preemption under this sanitizer";
  const auto backend = NewBackend();
  Client client(backend.get());
  client.CreateStream(1, {.priority = 0, .non_blocking = true});
  client.CreateStream(2, {.priority = -5, .non_blocking = true});
  client.Launch(1, client.Kernel("endless"), 10, 32, {});
  client.Launch(2, client.Kernel("empty"), 4, 32, {});
  EXPECT_TRUE(client.Synchronize(2));
}

TEST(Limits, AKernelThatRunsTooLongEndsAndNothingElse) {
  if (!guest::kAsyncLeave) GTEST_SKIP() << "no preemption under this sanitizer";
  const auto backend = NewBackend();
  Client endless(backend.get(), {.kernel_ns = 30'000'000}), other(backend.get(), {.kernel_ns = 10'000'000'000});
  endless.CreateStream(1);
  endless.Launch(1, endless.Kernel("endless"), 2, 32, {});
  other.CreateStream(1);
  auto* const counter = other.Array<uint64_t>(1);
  other.Launch(1, other.Kernel("slow"), 200, 32, {reinterpret_cast<uint64_t>(counter), 500'000});
  ASSERT_TRUE(endless.sink().WaitFaults(1));
  EXPECT_EQ(endless.sink().faults()[0].status, cuda::CUDA_ERROR_LAUNCH_TIMEOUT);
  EXPECT_GT(endless.space().counters(0).Get(Counter::time_limit_hits), 0u);
  ASSERT_TRUE(other.Synchronize(1));
  EXPECT_EQ(*counter, 200u);
  EXPECT_TRUE(other.sink().faults().empty());
}

TEST(Limits, WaitingForOthersIsNoRunningTime) {
  const auto backend = NewBackend();
  Client hog(backend.get()), patient(backend.get(), {.active_thread_percentage = 1, .kernel_ns = 1'000'000'000});
  GiveWork(hog);
  patient.CreateStream(1);
  // 30 ms of work at 2% of an SM: a second and a half, of which it runs a fiftieth.
  auto* const counter = patient.Array<uint64_t>(1);
  patient.Launch(1, patient.Kernel("slow"), 100, 32, {reinterpret_cast<uint64_t>(counter), 300'000});
  EXPECT_TRUE(patient.Synchronize(1));
  EXPECT_TRUE(patient.sink().faults().empty());
}

TEST(Limits, AGridWithoutEndOfTinyBlocksIsEndedToo) {
  const auto backend = NewBackend();
  Client client(backend.get(), {.kernel_ns = 20'000'000});
  client.CreateStream(1);
  client.Launch(1, client.Kernel("empty"), 0x7fff'ffff, 32, {});
  ASSERT_TRUE(client.sink().WaitFaults(1));
  EXPECT_EQ(client.sink().faults()[0].status, cuda::CUDA_ERROR_LAUNCH_TIMEOUT);
}

TEST(MemoryLimits, SixtyFourThreadsGetExactlyTheLimit) {
  constexpr uint64_t kPiece = 4096, kPieces = 1000;
  const auto backend = NewBackend();
  const auto group = std::make_shared<MemoryGroup>("group", 0);
  group->hard_bytes = kPieces * kPiece;
  constexpr int kClients = 8, kThreads = 64;
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < kClients; ++i)
    clients.push_back(std::make_unique<Client>(backend.get(), Limits{.memory_groups = {group}}));
  std::atomic<uint64_t> granted{0}, refused{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      // Allocate takes one thread per Space at a time from the server; its memory is safe from many.
      for (uint64_t i = 0; i < 2 * kPieces / kThreads; ++i) {
        const bool ok = clients[static_cast<size_t>(t % kClients)]
                            ->space()
                            .Allocate(0, wire::MemoryKind::kDevice, kPiece, 0)
                            .has_value();
        (ok ? granted : refused) += 1;
        EXPECT_LE(group->used_bytes, group->hard_bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(granted, kPieces);
  EXPECT_EQ(group->used_bytes, kPieces * kPiece);
  clients.clear();
  EXPECT_EQ(group->used_bytes, 0u);
}

TEST(MemoryLimits, AReservationThatTheDeviceRefusesLeavesTheGroupAlone) {
  constexpr uint64_t kDevice = 64ull << 20;
  const auto backend = NewBackend(kDevice);
  const auto group = std::make_shared<MemoryGroup>("group", 0);
  Client client(backend.get(), {.memory_groups = {group}});
  EXPECT_FALSE(client.space().Allocate(0, wire::MemoryKind::kDevice, kDevice + 4096, 0));
  EXPECT_EQ(group->used_bytes, 0u);
  EXPECT_TRUE(client.space().Allocate(0, wire::MemoryKind::kDevice, kDevice, 0)) << "and all of it can be had";
}

TEST(MemoryLimits, ModulesAreCounted) {
  const auto backend = NewBackend();
  Client client(backend.get());
  client.space().SetLimits({.memory_bytes = {16}});
  EXPECT_FALSE(client.space().LoadModule(0, std::vector<uint8_t>{'a', 'd', 'd'}));
  EXPECT_EQ(client.space().counters(0).Get(Counter::memory_limit_hits), 1u);
  client.space().SetLimits({});
  EXPECT_TRUE(client.space().LoadModule(0, std::vector<uint8_t>{'a', 'd', 'd'}));
  EXPECT_GT(client.space().counters(0).Get(Counter::memory_bytes), 0u);
}

TEST(Counters, OfEachDeviceAreItsOwn) {
  const auto backend = CreateCpuBackend({.devices = 2, .sms = kSms, .memory_bytes = 4ull << 30}, NewTestCode());
  Client client(backend.get());
  client.CreateStream(1, {.device = 1});
  const uint64_t before = client.space().counters(1).Get(Counter::memory_bytes);
  ASSERT_TRUE(client.space().Allocate(1, wire::MemoryKind::kDevice, 1 << 20, 0));
  client.Launch(1, client.Kernel("slow", 1), 10, 32, {client.Allocate(8), 100'000});
  ASSERT_TRUE(client.Synchronize(1));
  const auto& idle = client.space().counters(0);
  const auto& used = client.space().counters(1);
  EXPECT_EQ(idle.Get(Counter::launches), 0u);
  EXPECT_EQ(idle.Get(Counter::blocks), 0u);
  EXPECT_EQ(idle.Get(Counter::device_ns), 0u);
  EXPECT_EQ(used.Get(Counter::launches), 1u);
  EXPECT_EQ(used.Get(Counter::blocks), 10u);
  EXPECT_GE(used.Get(Counter::device_ns), 1'000'000u);
  EXPECT_GE(used.Get(Counter::memory_bytes), before + (1 << 20));
  EXPECT_LT(idle.Get(Counter::memory_bytes), 1u << 20);
}

TEST(Running, SaysWhichKernelsHaveBegunAndHowFarTheyAre) {
  const auto backend = NewBackend();
  Client client(backend.get());
  client.CreateStream(1);
  client.CreateStream(2);
  auto* const words = client.Array<uint64_t>(2);
  const auto flag = reinterpret_cast<uint64_t>(words);
  EXPECT_TRUE(client.space().Running(0).empty());
  client.Launch(1, client.Kernel("wait"), 3, 64, {flag, flag + 8});
  std::vector<Space::RunningKernel> running;
  do {
    running = client.space().Running(0);
  } while (running.empty() || running[0].begun != 3 || running[0].running_ns == 0);
  ASSERT_EQ(running.size(), 1u);
  EXPECT_EQ(running[0].name, "wait");
  EXPECT_EQ(running[0].grid[0], 3u);
  EXPECT_EQ(running[0].block[0], 64u);
  EXPECT_EQ(running[0].blocks, 3u);
  EXPECT_EQ(running[0].done, 0u);
  std::atomic_ref(words[0]).store(1);
  ASSERT_TRUE(client.Synchronize(1));
  EXPECT_TRUE(client.space().Running(0).empty());
}

class HostMemory : public testing::Test {
 protected:
  static constexpr uint64_t kPiece = 1 << 20;
  static constexpr uint64_t kOfAll = 8 * kPiece, kOfOne = 6 * kPiece;

  // How many pieces of this kind the client gets.
  static uint64_t TakeAll(Client& client, wire::MemoryKind kind) {
    uint64_t taken = 0;
    while (const auto memory = client.space().Allocate(0, kind, kPiece, 0)) {
      ++taken;
      last_ = *memory;
    }
    return taken;
  }
  static inline uint64_t last_ = 0;

  const std::unique_ptr<Backend> backend_ = CreateCpuBackend(
      {.devices = 1, .sms = 1, .memory_bytes = 1ull << 30, .host_bytes = kOfAll, .client_host_bytes = kOfOne},
      NewTestCode());
};

TEST_F(HostMemory, OfOneClientIsLimitedWhateverItsKind) {
  for (const auto kind : {wire::MemoryKind::kHost, wire::MemoryKind::kScratch}) {
    Client client(backend_.get());
    EXPECT_EQ(TakeAll(client, kind), kOfOne / kPiece);
    const auto refused = client.space().Allocate(0, kind, kPiece, 0);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, 2) << "CUDA_ERROR_OUT_OF_MEMORY";
    EXPECT_TRUE(client.space().Allocate(0, wire::MemoryKind::kDevice, kPiece, 0)) << "device memory is another account";
    ASSERT_TRUE(client.space().Free(last_));
    EXPECT_TRUE(client.space().Allocate(0, kind, kPiece, 0)) << "what is freed can be had again";
  }
}

TEST_F(HostMemory, OfAllClientsIsLimited) {
  Client first(backend_.get()), second(backend_.get());
  EXPECT_EQ(TakeAll(first, wire::MemoryKind::kHost), kOfOne / kPiece);
  EXPECT_EQ(TakeAll(second, wire::MemoryKind::kHost), (kOfAll - kOfOne) / kPiece);
  first.Destroy();
  EXPECT_EQ(TakeAll(second, wire::MemoryKind::kHost), (2 * kOfOne - kOfAll) / kPiece) << "what has ended gives back";
}

// The backlog of many clients is the server's memory, too.
TEST(HostMemoryOfWork, BeyondWhatAnyClientMayHaveWaitingIsCounted) {
  constexpr uint64_t kHost = 256 << 20;
  constexpr uint32_t kAnyClient = 2 * wire::kSharedBacklog, kMost = kHost / 1024;
  const auto backend = CreateCpuBackend(
      {.devices = 1, .sms = 1, .memory_bytes = 1ull << 30, .host_bytes = kHost, .client_host_bytes = kHost},
      NewTestCode());
  const auto fill = [](Client& client) {
    uint32_t marks = 0;
    while (client.space().Mark(1, client.next_ticket())) ++marks;
    return marks;
  };
  const auto pin = [](Client& client, uint64_t bytes) {
    return client.space().Allocate(0, wire::MemoryKind::kHost, bytes, 0).has_value();
  };
  Client first(backend.get()), second(backend.get());
  for (Client* client : {&first, &second}) {
    client->CreateStream(1);
    ASSERT_TRUE(client->space().HostCall(1, client->next_ticket(), 1));
  }
  EXPECT_EQ(fill(first), kMost - 1);
  EXPECT_FALSE(pin(second, kHost)) << "what waits is not counted";
  EXPECT_TRUE(pin(second, kHost - (kMost - kAnyClient) * 1024ull));
  EXPECT_EQ(fill(second), kAnyClient - 1) << "there is no memory for more";
  ASSERT_TRUE(first.space().HostCallDone(1, 1));
  ASSERT_TRUE(first.Synchronize(1));
  EXPECT_TRUE(pin(first, (kMost - kAnyClient) * 1024ull - (32 << 20))) << "what is done is given back";
}

TEST_F(HostMemory, CountsTheImagesOfModules) {
  Client client(backend_.get());
  std::vector<uint8_t> image(kOfOne + 1, ' ');
  std::ranges::copy(std::string_view("add"), image.begin());
  const auto module = client.space().LoadModule(0, image);
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().code, 2) << module.error().text;
  EXPECT_EQ(TakeAll(client, wire::MemoryKind::kHost), kOfOne / kPiece) << "a load that failed holds nothing";
}

TEST(Counters, TellWhatAClientHad) {
  const auto backend = NewBackend();
  Client client(backend.get());
  client.CreateStream(1);
  const uint64_t memory = client.Allocate(1 << 20);
  client.Launch(1, client.Kernel("slow"), 10, 32, {memory, 1'000'000});
  ASSERT_TRUE(client.space().Fill(1, client.next_ticket(),
                                  {.destination = memory, .width = 1000, .height = 1, .element_bytes = 4}));
  ASSERT_TRUE(client.Synchronize(1));
  const auto& counters = client.space().counters(0);
  EXPECT_EQ(counters.Get(Counter::launches), 1u);
  EXPECT_EQ(counters.Get(Counter::blocks), 10u);
  EXPECT_EQ(counters.Get(Counter::copied_bytes), 4000u);
  EXPECT_GE(counters.Get(Counter::device_ns), 10'000'000u);
  EXPECT_GE(counters.Get(Counter::wanted_ns), 5'000'000u) << "two SMs worked side by side";
  EXPECT_GE(counters.Get(Counter::memory_peak_bytes), 1u << 20);
}

}  // namespace
}  // namespace tutti::device::cpu
