#include "server/server_peers.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "device/null/null_backend.h"

namespace tutti::server {
namespace {

using Answer = device::MemoryAccount::Answer;

// A server with its page, as far as others see it.
struct Peer {
  Peer() : page(os::CreateMemoryForWriter("page", sizeof(wire::ServerPage)).value()) {
    EXPECT_TRUE(peers.WriteTo(page.get()));
    EXPECT_TRUE(os::SealForReaders(page));
  }
  device::MemoryAccount& memory() { return backend->memory(0); }

  std::unique_ptr<device::Backend> backend = device::null::CreateNullBackend();
  ServerPeers peers{*backend};
  os::Fd page;
};

class TwoServers : public ::testing::Test {
 protected:
  TwoServers() {
    EXPECT_TRUE(one_.peers.ReadFrom(2, two_.page.get()));
    EXPECT_TRUE(two_.peers.ReadFrom(1, one_.page.get()));
  }
  Peer one_, two_;
  const uint64_t total_ = one_.memory().total_bytes();
};

TEST_F(TwoServers, CountTheirMemoryTogether) {
  EXPECT_EQ(one_.memory().Reserve(total_ - 100, {}), Answer::kGranted);
  EXPECT_EQ(two_.memory().device_bytes(), total_ - 100);
  EXPECT_EQ(two_.memory().used_bytes(), 0u);
  EXPECT_EQ(two_.memory().Reserve(101, {}), Answer::kDeviceFull);
  EXPECT_EQ(two_.memory().Reserve(100, {}), Answer::kGranted);
  EXPECT_EQ(one_.memory().Reserve(1, {}), Answer::kDeviceFull);
  one_.memory().Release(total_ - 100, {});
  EXPECT_EQ(two_.memory().Reserve(total_ - 100, {}), Answer::kGranted);
}

TEST_F(TwoServers, WhatEndedClientsOfOneHaveIsNoLongerUsedToTheOther) {
  EXPECT_EQ(one_.memory().Reserve(1000, {}), Answer::kGranted);
  one_.memory().SetLeaving(400);
  EXPECT_EQ(two_.memory().device_bytes(), 600u);
  EXPECT_EQ(two_.memory().others().bytes, 1000u);
  EXPECT_EQ(two_.memory().others().leaving_bytes, 400u);
  EXPECT_EQ(two_.memory().Reserve(total_ - 999, {}), Answer::kDeviceFull) << "it is not free yet";
  one_.memory().SetLeaving(total_);
  EXPECT_EQ(two_.memory().device_bytes(), 0u) << "at most what it has";
  one_.memory().Release(1000, {});
}

TEST_F(TwoServers, ForgetOneThatHasEnded) {
  EXPECT_EQ(one_.memory().Reserve(total_, {}), Answer::kGranted);
  two_.peers.Forget(1);
  EXPECT_EQ(two_.memory().Reserve(total_, {}), Answer::kGranted);
}

TEST_F(TwoServers, TogetherNeverHaveMoreThanTheDevice) {
  constexpr int kThreads = 2, kRounds = 20000;
  std::atomic<uint64_t> held{0}, most{0}, granted{0};
  const auto allocate = [&](Peer& server, uint32_t seed) {
    std::minstd_rand random(seed);
    for (int i = 0; i < kRounds; ++i) {
      const uint64_t bytes = total_ / 4 + random() % (total_ / 2);
      if (server.memory().Reserve(bytes, {}) != Answer::kGranted) continue;
      const uint64_t now = held.fetch_add(bytes) + bytes;
      for (uint64_t seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
      }
      ++granted;
      std::this_thread::yield();  // to who would exceed it now
      held -= bytes;
      server.memory().Release(bytes, {});
    }
  };
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kThreads; ++i) {
    threads.emplace_back(allocate, std::ref(one_), 2 * i);
    threads.emplace_back(allocate, std::ref(two_), 2 * i + 1);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most, total_);
  EXPECT_GT(granted, 100u);
  EXPECT_EQ(one_.memory().device_bytes(), 0u);
  EXPECT_EQ(one_.memory().Reserve(total_, {}), Answer::kGranted);
}

// The daemon that comes after one that was killed makes new pages; who has not heard of them reads the old ones.
TEST_F(TwoServers, GoOnWithNewPagesAndOld) {
  EXPECT_EQ(one_.memory().Reserve(1000, {}), Answer::kGranted);
  const os::Fd page = os::CreateMemoryForWriter("page", sizeof(wire::ServerPage)).value();
  ASSERT_TRUE(one_.peers.WriteTo(page.get()));
  EXPECT_EQ(one_.memory().Reserve(1000, {}), Answer::kGranted);
  EXPECT_EQ(two_.memory().device_bytes(), 2000u);
  ASSERT_TRUE(two_.peers.ReadFrom(1, page.get()));
  EXPECT_EQ(two_.memory().device_bytes(), 2000u);
  one_.peers.WriteToLatest();
  one_.memory().Release(2000, {});
  EXPECT_EQ(two_.memory().device_bytes(), 0u);
}

TEST_F(TwoServers, HearWhatTheOtherWantsOfTheTime) {
  const device::SmSet low(0b0011), high = device::SmSet(0b11) << 254;
  one_.peers.time(0).Say(
      std::vector<device::TimeDemand>{{.weight = 30, .sms = 1.5, .sms_now = 2, .band = 0, .region = low},
                                      {.weight = 70, .sms = 0.25, .sms_now = 0, .band = 1, .region = high}},
      1000);
  std::vector<device::TimeDemand> heard(8);
  ASSERT_EQ(two_.peers.time(0).Hear(heard, 999), 2u);
  EXPECT_EQ(heard[0].weight, 30);
  EXPECT_EQ(heard[0].sms, 1.5);
  EXPECT_EQ(heard[0].region, low);
  EXPECT_EQ(heard[1].band, 1u);
  EXPECT_EQ(heard[1].region, high);
  EXPECT_EQ(heard[1].server, 1u);
  EXPECT_EQ(two_.peers.time(0).HearUrgent(1, low, 999), 2);
  EXPECT_EQ(two_.peers.time(0).HearUrgent(1, device::SmSet(0b0110), 999), 1) << "half of these SMs";
  EXPECT_EQ(two_.peers.time(0).HearUrgent(1, high, 999), 0);
  EXPECT_EQ(two_.peers.time(0).HearUrgent(0, low, 999), 0) << "nobody precedes these";
  one_.peers.time(0).SayNow(0, 0);
  EXPECT_EQ(two_.peers.time(0).HearUrgent(1, low, 999), 0);
  one_.peers.time(0).SayNow(100, 1);  // no such demand

  EXPECT_EQ(two_.peers.time(0).Hear(heard, 1000), 0u) << "too long ago";
  one_.peers.time(0).SayUntil(2000);
  EXPECT_EQ(two_.peers.time(0).Hear(heard, 1000), 2u);
  one_.peers.time(0).SayUntil(1000);
  EXPECT_EQ(two_.peers.time(0).HearUrgent(2, low, 1000), 0);
  EXPECT_EQ(one_.peers.time(0).Hear(heard, 999), 0u) << "not what it says itself";
}

// What a server's user may have put there.
TEST_F(TwoServers, BelieveNoMoreThanTheDeviceHas) {
  const os::Fd page = os::CreateMemoryForWriter("page", sizeof(wire::ServerPage)).value();
  const auto mapping = os::Mapping::Shared(page.get(), sizeof(wire::ServerPage)).value();
  auto* const lies = reinterpret_cast<wire::ServerPage*>(mapping.data());
  EXPECT_FALSE(two_.peers.ReadFrom(7, page.get())) << "is not written";
  lies->written = 1;
  lies->device_count = 0xffffffff;
  for (auto& device : lies->devices) {
    std::ranges::copy(two_.backend->devices()[0].uuid, device.uuid);
    device.used_bytes = ~0ull;
    device.wanted_until_ns = ~0ull;
    device.demand_count = ~0u;
    for (auto& demand : device.demands) demand.weight = demand.sms = demand.sms_now = ~0u;
  }
  ASSERT_TRUE(two_.peers.ReadFrom(7, page.get()));
  EXPECT_EQ(two_.memory().device_bytes(), total_);
  EXPECT_EQ(two_.memory().Reserve(1, {}), Answer::kDeviceFull);
  std::vector<device::TimeDemand> heard(1000);
  EXPECT_EQ(two_.peers.time(0).Hear(heard, 1), wire::ServerPage::kMostDemands);
  EXPECT_EQ(two_.peers.time(0).HearUrgent(1, device::SmSet(1), 1), 0) << "of no SM";
  EXPECT_EQ(two_.peers.time(0).Hear(std::span(heard).first(5), 1), 5u);
  for (auto& device : lies->devices) device.used_bytes = 0;
  EXPECT_EQ(two_.memory().Reserve(1, {}), Answer::kGranted);

  const os::Fd small = os::CreateMemory("page", 64).value();
  EXPECT_FALSE(two_.peers.ReadFrom(8, small.get()));
  const os::Fd open(memfd_create("page", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(open.get(), sizeof(wire::ServerPage)), 0);
  EXPECT_FALSE(two_.peers.ReadFrom(9, open.get())) << "could still shrink";
  EXPECT_FALSE(two_.peers.ReadFrom(10, -1));
}

}  // namespace
}  // namespace tutti::server
