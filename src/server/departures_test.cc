#include "server/departures.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "device/null/null_backend.h"

namespace tutti::server {
namespace {

constexpr uint64_t kMiB = 1 << 20, kMs = 1'000'000;

// Another server, as far as its memory matters.
class OtherServer final : public device::MemoryPeers {
 public:
  uint64_t Exchange(uint64_t) override { return has_bytes; }
  uint64_t bytes() const override { return has_bytes; }
  void Pause() override {}
  void SayLeaving(uint64_t) override {}
  uint64_t leaving_bytes() const override { return leaves_bytes; }

  uint64_t has_bytes = 0, leaves_bytes = 0;
};

class DeparturesTest : public ::testing::Test {
 protected:
  DeparturesTest() { backend_->memory(0).Join(&other_); }
  ~DeparturesTest() override { backend_->memory(0).Join(nullptr); }

  void Await(uint32_t client, uint64_t now_ns, uint64_t first_ns, bool on_device = true) {
    departures_.Await({.client = client, .on_device = on_device, .first_ns = first_ns, .tried_ns = now_ns}, now_ns,
                      [this](bool again) {
                        EXPECT_FALSE(answer_.has_value()) << "once";
                        answer_ = again;
                      });
  }
  std::optional<bool> Answer() { return std::exchange(answer_, std::nullopt); }

  OtherServer other_;
  std::unique_ptr<device::Backend> backend_ = device::null::CreateNullBackend();
  int timers_ = 0;
  Departures departures_{*backend_, [this] { ++timers_; }};
  std::optional<bool> answer_;
};

TEST_F(DeparturesTest, WithNobodyLeavingNobodyWaits) {
  Await(1, kMs, kMs);
  EXPECT_EQ(Answer(), false);
  EXPECT_FALSE(departures_.has_waiters());
}

TEST_F(DeparturesTest, WhoeverIsRefusedTriesAgainWhenOneIsGone) {
  departures_.Begin(7, {kMiB});
  departures_.Begin(8, {kMiB});
  Await(1, kMs, kMs);
  departures_.Tick(2 * kMs);
  EXPECT_EQ(Answer(), std::nullopt);
  departures_.Gone(7, 3 * kMs);
  EXPECT_EQ(Answer(), true);
  EXPECT_FALSE(departures_.has_waiters());
  Await(1, 4 * kMs, kMs);
  EXPECT_EQ(Answer(), std::nullopt) << "for the other one";
  departures_.Gone(8, 5 * kMs);
  EXPECT_EQ(Answer(), true);
}

TEST_F(DeparturesTest, OneThatWentSinceTheTryCounts) {
  departures_.Begin(7, {kMiB});
  departures_.Gone(7, 3 * kMs);
  Await(1, 2 * kMs, 2 * kMs);
  EXPECT_EQ(Answer(), true);
  Await(1, 4 * kMs, 2 * kMs);
  EXPECT_EQ(Answer(), false);
}

TEST_F(DeparturesTest, WhatLeavesCountsAsFree) {
  ASSERT_EQ(backend_->memory(0).Reserve(3 * kMiB, {}), device::MemoryAccount::Answer::kGranted);
  departures_.Begin(7, {kMiB});
  EXPECT_EQ(backend_->memory(0).device_bytes(), 2 * kMiB);
  backend_->memory(0).Release(kMiB, {});
  departures_.Gone(7, kMs);
  EXPECT_EQ(backend_->memory(0).device_bytes(), 2 * kMiB);
  backend_->memory(0).Release(2 * kMiB, {});
}

TEST_F(DeparturesTest, NobodyWaitsForLongForOneThatDoesNotGetAway) {
  departures_.Begin(7, {kMiB});
  Await(1, 0, 0);
  departures_.Tick(Departures::kLongestNs - 1);
  EXPECT_EQ(Answer(), std::nullopt);
  departures_.Tick(Departures::kLongestNs);
  EXPECT_EQ(Answer(), true) << "a last try";
  Await(1, Departures::kLongestNs + 1, 0);
  EXPECT_EQ(Answer(), false);
}

TEST_F(DeparturesTest, OtherServersSeeTheEndsOfTheirClientsAMomentLater) {
  other_.has_bytes = 2 * kMiB;
  Await(1, 0, 0);
  departures_.Tick(kMs);
  EXPECT_EQ(Answer(), std::nullopt);
  other_.has_bytes = kMiB;
  departures_.Tick(2 * kMs);
  EXPECT_EQ(Answer(), true);
  Await(1, 2 * kMs, 0);
  departures_.Tick(Departures::kGraceNs);
  EXPECT_EQ(Answer(), true) << "a last try";
  Await(1, Departures::kGraceNs, 0);
  EXPECT_EQ(Answer(), false);
}

TEST_F(DeparturesTest, ClientsThatLeaveOtherServersAreWaitedFor) {
  other_.has_bytes = other_.leaves_bytes = kMiB;
  Await(1, Departures::kGraceNs, 0);
  departures_.Tick(2 * Departures::kGraceNs);
  EXPECT_EQ(Answer(), std::nullopt);
  other_.has_bytes = other_.leaves_bytes = 0;
  departures_.Tick(3 * Departures::kGraceNs);
  EXPECT_EQ(Answer(), true);
}

TEST_F(DeparturesTest, OtherServersHaveNoneOfThisServersHostMemory) {
  other_.has_bytes = other_.leaves_bytes = kMiB;
  Await(1, 0, 0, false);
  EXPECT_EQ(Answer(), false);
}

TEST_F(DeparturesTest, OneThatEndsWhileItWaitsIsAnswered) {
  departures_.Begin(7, {kMiB});
  Await(1, 0, 0);
  departures_.Forget(2);
  EXPECT_EQ(Answer(), std::nullopt);
  departures_.Forget(1);
  EXPECT_EQ(Answer(), false);
}

// As where clients come and go all the time.
TEST_F(DeparturesTest, NobodyTriesForEver) {
  for (uint64_t now_ns = kMs; now_ns < kMs + Departures::kLongestNs; now_ns += 100 * kMs) {
    departures_.Begin(7, {kMiB});
    departures_.Gone(7, now_ns);
    Await(1, now_ns, kMs);
    EXPECT_EQ(Answer(), true);
  }
  departures_.Begin(7, {kMiB});
  departures_.Gone(7, kMs + Departures::kLongestNs);
  Await(1, kMs + Departures::kLongestNs, kMs);
  EXPECT_EQ(Answer(), false);
}

// As by one that allocates in a loop what no end of others can help.
TEST_F(DeparturesTest, WhoeverIsRefusedMeanwhileDoesNotPutOffTheOthersTick) {
  other_.has_bytes = other_.leaves_bytes = kMiB;
  Await(1, kMs, kMs);
  EXPECT_EQ(Answer(), std::nullopt);
  EXPECT_EQ(timers_, 1);
  for (int i = 0; i < 3; ++i) {
    departures_.Await({.client = 2, .on_device = false, .first_ns = kMs, .tried_ns = kMs}, kMs,
                      [](bool again) { EXPECT_FALSE(again); });
  }
  departures_.Await({.client = 3, .first_ns = kMs, .tried_ns = kMs}, kMs, [](bool) {});
  EXPECT_EQ(timers_, 1);
  departures_.Tick(2 * kMs);
  EXPECT_EQ(timers_, 2) << "they wait still";
  other_.leaves_bytes = 0;
  other_.has_bytes = 0;
  departures_.Tick(3 * kMs);
  EXPECT_EQ(Answer(), true);
  EXPECT_EQ(timers_, 2);
}

}  // namespace
}  // namespace tutti::server
