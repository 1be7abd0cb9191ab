// Grids whose blocks wait for each other, on real SMs: each must end, whatever preempts its blocks.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <random>
#include <thread>

#include "base/clock.h"
#include "device/cpu/cpu_backend.h"
#include "device/cpu/testing/test_kernels.h"
#include "device/cts/client.h"
#include "guest/exec/sanitizers.h"

namespace tutti::device::cpu {
namespace {

using cts::Client;

std::unique_ptr<Backend> NewBackend(uint32_t sms) {
  return CreateCpuBackend({.devices = 1, .sms = sms, .memory_bytes = 4ull << 30}, NewTestCode());
}

// A launch of `kernel` with a counter of its own.
struct Counted {
  Counted(Client* owner, uint32_t stream, const char* kernel, uint32_t blocks, uint64_t argument = 0)
      : client(owner), count(owner->Array<uint64_t>(1)) {
    client->Launch(stream, client->Kernel(kernel), blocks, 32, {reinterpret_cast<uint64_t>(count), argument});
  }
  uint64_t value() const { return std::atomic_ref(*count).load(); }

  Client* client;
  uint64_t* count;
};

class GridProgress : public testing::TestWithParam<uint32_t> {
 protected:
  std::unique_ptr<Backend> backend_ = NewBackend(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Sms, GridProgress, testing::Values(1, 2, 64), testing::PrintToStringParamName());

// No bound on the total time, but on each minute: some block must count in it.
bool Ends(Client& client, uint32_t stream, const Counted& chain) {
  const uint64_t end = client.Mark(stream);
  for (uint64_t before = 0;;) {
    if (client.sink().WaitDone(stream, end)) return true;
    const uint64_t now = chain.value();
    if (now == before) return false;
    before = now;
  }
}

TEST_P(GridProgress, ChainsOfAnyLengthEnd) {
  Client client(backend_.get());
  client.CreateStream(1);
  // A million takes too long where dozens of SMs share a core with a sanitizer.
  const uint32_t most = guest::kSanitized ? 10'000 : 1'000'000;
  for (const uint32_t blocks : {10u, 1000u, most}) {
    const Counted chain(&client, 1, "chain", blocks);
    ASSERT_TRUE(Ends(client, 1, chain));
    EXPECT_EQ(chain.value(), blocks);
  }
}

TEST_P(GridProgress, ChainsOfSeveralClientsEndBesideEachOther) {
  Client a(backend_.get()), b(backend_.get());
  constexpr uint32_t kBlocks = 20'000;
  a.CreateStream(1);
  b.CreateStream(1);
  const Counted first(&a, 1, "chain", kBlocks), second(&b, 1, "chain", kBlocks, 500);
  ASSERT_TRUE(a.Synchronize(1));
  ASSERT_TRUE(b.Synchronize(1));
  EXPECT_EQ(first.value(), kBlocks);
  EXPECT_EQ(second.value(), kBlocks);
}

TEST_P(GridProgress, BlocksThatAllWaitForEachOtherMeetIfTheSmsCanHoldThem) {
  Client client(backend_.get());
  client.CreateStream(1);
  const uint32_t blocks = 32 * GetParam();
  constexpr uint64_t kRounds = 50;
  const Counted all(&client, 1, "meet", blocks, kRounds);
  ASSERT_TRUE(client.Synchronize(1));
  EXPECT_EQ(all.value(), kRounds * blocks);
}

// A part of an SM, one SM or all of them, one priority or another, under any policy: at any moment.
TEST_P(GridProgress, ChainsEndWhileEverythingAboutTheirClientsChanges) {
  constexpr uint32_t kBlocks = 3000, kSms = 2;
  std::mt19937 random(GetParam());
  Client doomed(backend_.get());
  doomed.CreateStream(1);
  const Counted endless(&doomed, 1, "chain", 2'000'000'000);
  for (int round = 0; round < 3; ++round) {
    Client a(backend_.get()), b(backend_.get());
    for (Client* client : {&a, &b}) {
      client->CreateStream(1);
      client->CreateStream(2, {.priority = -5, .non_blocking = true});
    }
    const Counted chains[] = {
        {&a, 1, "chain", kBlocks}, {&a, 2, "chain", kBlocks, 1000}, {&b, 1, "chain", kBlocks, 1000}};
    const uint64_t marks[] = {a.Mark(1), a.Mark(2), b.Mark(1)};
    const auto done = [&] {
      return a.sink().IsDone(1, marks[0]) && a.sink().IsDone(2, marks[1]) && b.sink().IsDone(1, marks[2]);
    };
    const uint64_t give_up_ns = NowNs() + 100'000'000'000;
    while (!done() && NowNs() < give_up_ns) {
      Limits limits{.active_thread_percentage = 20.0 + static_cast<double>(random() % 81),
                    .priority = static_cast<int32_t>(random() % 2)};
      const auto sm = static_cast<uint32_t>(random() % kSms % GetParam());
      if (random() % 2 == 0) limits.sm_ranges.push_back({.device = 0, .first_sm = sm, .count = 1});
      (random() % 2 == 0 ? a : b).space().SetLimits(limits);
      if (random() % 8 == 0) backend_->SetPolicy(static_cast<Policy>(random() % std::size(kPolicyNames)));
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
      a.space().SetLimits({});
      b.space().SetLimits({});
    }
    ASSERT_TRUE(done());
    for (const Counted& chain : chains) EXPECT_EQ(chain.value(), kBlocks);
    if (round == 1) doomed.Destroy();  // in the middle of its chain
  }
}

// What happens beside a chain: `change` of a client that runs one.
struct Disturbance {
  const char* name;
  void (*change)(Backend& backend, uint32_t sms, Client& client, uint32_t number);
};
constexpr Disturbance kDisturbances[] = {
    {"Limits", [](Backend&, uint32_t, Client& client,
                  uint32_t number) { client.space().SetLimits({.active_thread_percentage = 20.0 + number % 81}); }},
    {"Moves",
     [](Backend&, uint32_t sms, Client& client, uint32_t number) {
       client.space().SetLimits({.sm_ranges = {{.device = 0, .first_sm = number % sms, .count = 1}}});
     }},
    {"Priorities",
     [](Backend&, uint32_t, Client& client, uint32_t number) {
       client.space().SetLimits({.priority = static_cast<int32_t>(number % 2)});
       client.Launch(2, client.Kernel("empty"), 8, 32, {});  // more urgent than the chain
     }},
    {"Policies", [](Backend& backend, uint32_t, Client&,
                    uint32_t number) { backend.SetPolicy(static_cast<Policy>(number % std::size(kPolicyNames))); }},
};

// A client with a chain in a stream and another, more urgent one.
struct ClientWithChain : Client {
  ClientWithChain(Backend* backend, uint32_t blocks) : Client(backend) {
    CreateStream(1);
    CreateStream(2, {.priority = -5, .non_blocking = true});
    chain.emplace(this, 1, "chain", blocks);
    end = Mark(1);
  }
  bool done() { return sink().IsDone(1, end); }

  std::optional<Counted> chain;
  uint64_t end = 0;
};

// Calls `change` with random numbers until the chain has ended. No bound on the total time, but on each minute: some
// block must count in it.
bool EndsWhile(ClientWithChain& client, const std::function<void(uint32_t number)>& change) {
  std::mt19937 random(1);
  uint64_t before = ~0ull, since_ns = NowNs();
  while (!client.done()) {
    change(static_cast<uint32_t>(random()));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 1000));
    if (const uint64_t now = client.chain->value(); now != before) {
      before = now;
      since_ns = NowNs();
    } else if (NowNs() - since_ns > 60'000'000'000) {
      return false;
    }
  }
  return true;
}

class DisturbedChain : public testing::TestWithParam<std::tuple<uint32_t, Disturbance>> {};

INSTANTIATE_TEST_SUITE_P(Sms, DisturbedChain,
                         testing::Combine(testing::Values(1, 2, 64), testing::ValuesIn(kDisturbances)),
                         [](const auto& info) {
                           return std::string(std::get<1>(info.param).name) + std::to_string(std::get<0>(info.param));
                         });

TEST_P(DisturbedChain, OfAHundredThousandBlocksEndsBesideItsLike) {
  constexpr uint32_t kBlocks = guest::kSanitized ? 3000 : 100'000;
  const auto& [sms, disturbance] = GetParam();
  const auto backend = NewBackend(sms);
  ClientWithChain a(backend.get(), kBlocks), b(backend.get(), kBlocks);
  const auto change = [&, &sms = sms, &disturbance = disturbance](uint32_t number) {
    disturbance.change(*backend, sms, number & 1 << 20 ? a : b, number);
  };
  ASSERT_TRUE(EndsWhile(a, change));
  ASSERT_TRUE(EndsWhile(b, change));
  EXPECT_EQ(a.chain->value(), kBlocks);
  EXPECT_EQ(b.chain->value(), kBlocks);
}

// ... of which one is killed in the middle of its chain, and another comes.
TEST_P(GridProgress, AChainOfAMillionBlocksEndsWhileEverythingChangesAndANeighbourIsKilled) {
  constexpr uint32_t kBlocks = guest::kSanitized ? 10'000 : 1'000'000;
  bool killed = false;
  while (!killed) {  // a chain may end before anybody looks at it
    ClientWithChain client(backend_.get(), kBlocks);
    auto neighbour = std::make_unique<ClientWithChain>(backend_.get(), 2'000'000'000);
    ASSERT_TRUE(EndsWhile(client, [&](uint32_t number) {
      const Disturbance& disturbance = kDisturbances[number % std::size(kDisturbances)];
      disturbance.change(*backend_, GetParam(), number & 1 << 20 ? client : *neighbour, number >> 8);
      if (number >> 24 < 16) client.space().SetLimits({});
      if (const uint64_t blocks = client.chain->value(); killed || blocks == 0 || blocks == kBlocks) return;
      killed = true;
      neighbour->Destroy();
      neighbour = std::make_unique<ClientWithChain>(backend_.get(), 2'000'000'000);
    }));
    ASSERT_EQ(client.chain->value(), kBlocks);
  }
}

// More urgent work that only waits must let the less urgent run that it waits for.
TEST_P(GridProgress, AnUrgentGridThatWaitsForAnotherStreamLetsItRun) {
  Client client(backend_.get());
  client.CreateStream(1, {.priority = 0, .non_blocking = true});
  client.CreateStream(2, {.priority = -5, .non_blocking = true});
  auto* const words = client.Array<uint64_t>(2);
  const auto flag = reinterpret_cast<uint64_t>(words);
  client.Launch(2, client.Kernel("wait"), 16 * GetParam(), 32, {flag, flag + 8});
  client.Launch(1, client.Kernel("store"), 1, 1, {flag, 1});
  EXPECT_TRUE(client.Synchronize(2));
}

// An SM that turns to long blocks polls the rings a last time. What it finds there is for an SM that sleeps.
TEST(Progress, WhatAnSmFindsOnItsWayToLongBlocksIsRunByAnother) {
  if (!guest::kAsyncLeave) GTEST_SKIP() << "an endless kernel could not be ended";
  std::atomic<int> asleep{0};
  std::atomic<bool> record{false}, launched{false}, submitted{false};
  Client* submitter = nullptr;
  uint64_t flag = 0;
  const auto backend = NewBackend(2);  // its threads use the above until it is gone
  Client client(backend.get());
  client.CreateStream(1);
  client.CreateStream(2);
  submitter = &client;
  flag = reinterpret_cast<uint64_t>(client.Array<uint64_t>(1));
  Backend::IdleWork work;
  work.poll = [] { return false; };
  work.leave = [&] {
    if (!record.exchange(false)) return;
    while (!launched) std::this_thread::yield();
    submitter->Launch(2, submitter->Kernel("store"), 1, 1, {flag, 1});
    submitted = true;
  };
  work.arm = [&] {
    ++asleep;
    return false;
  };
  work.woke = [&] { --asleep; };
  backend->SetIdleWork(std::move(work));
  while (asleep == 0) std::this_thread::yield();  // the other one sleeps, or is about to
  record = true;
  client.Launch(1, client.Kernel("endless"), 1, 32, {});
  launched = true;
  while (!submitted) std::this_thread::yield();
  EXPECT_TRUE(client.Synchronize(2)) << "although an SM sleeps";
}

}  // namespace
}  // namespace tutti::device::cpu
