// What holds on many SMs as on few, in simulated time: each call has the lock for as long as it is told to.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <tuple>

#include "device/cpu/testing/many_sms.h"

namespace tutti::device::cpu {
namespace {

constexpr uint64_t kMs = 1'000'000, kUs = 1'000;
constexpr ManySmsCosts kCosts{.hold_ns = 300, .handoff_ns = 150};

// Until all SMs have had the lock once: what comes at a bad moment waits for as long, and a change of all SMs takes
// twice that, 0.46 ms on 512 SMs.
constexpr uint64_t RoundNs(uint32_t sms) { return sms * (kCosts.hold_ns + kCosts.handoff_ns); }

MadeUpClient BusyOn(uint32_t sms, uint64_t block_ns, const ShareLimits& limits = {}, bool any_order = false) {
  return {.limits = limits, .blocks = 256 * uint64_t{sms}, .block_ns = block_ns, .any_order = any_order};
}

std::vector<double> PartsOf(const ManySmsResult& result, uint32_t sms) {
  std::vector<double> parts;
  for (const uint64_t ns : result.client_ns)
    parts.push_back(static_cast<double>(ns) / static_cast<double>(result.ns * sms));
  return parts;
}

class ManySmsTest : public testing::TestWithParam<std::tuple<uint32_t, bool>> {
 protected:
  uint32_t sms() const { return std::get<0>(GetParam()); }
  // More blocks than SMs, again and again.
  MadeUpClient Busy(uint64_t block_ns, const ShareLimits& limits = {}) const {
    return BusyOn(sms(), block_ns, limits, std::get<1>(GetParam()));
  }
};

TEST_P(ManySmsTest, EqualClientsHaveEqualPartsWhateverTheirBlocksTake) {
  const uint32_t sms = this->sms();
  std::vector<MadeUpClient> clients;
  for (uint32_t i = 0; i < 24; ++i) clients.push_back(Busy(5 * kUs << i % 6));
  ManySms device(sms, clients, kCosts);
  const ManySmsResult result = device.Run(20 * kMs, 400 * kMs);
  const double fair = static_cast<double>(result.busy_ns) / static_cast<double>(clients.size());
  for (const uint64_t ns : result.client_ns) EXPECT_NEAR(static_cast<double>(ns) / fair, 1, 0.02);
}

TEST_P(ManySmsTest, PercentagesHold) {
  const uint32_t sms = this->sms();
  const double percentages[] = {12.5, 25, 50};
  std::vector<MadeUpClient> clients;
  for (const double percentage : percentages) clients.push_back(Busy(10 * kUs, {.percentage = percentage}));
  ManySms device(sms, clients, kCosts);
  const auto parts = PartsOf(device.Run(20 * kMs, 200 * kMs), sms);
  for (size_t i = 0; i < parts.size(); ++i) {
    EXPECT_LE(parts[i] * 100, percentages[i] * 1.005);
    EXPECT_GE(parts[i] * 100, percentages[i] * (sms <= 64 ? 0.9 : 0.8)) << "but for its turns at the lock";
  }
}

TEST_P(ManySmsTest, ThoseBelowNormalHaveWhatIsLeft) {
  const uint32_t sms = this->sms();
  // The normal one uses half of the SMs, half of the time.
  const MadeUpClient normal{.blocks = sms / 2, .block_ns = 500 * kUs, .pause_ns = 500 * kUs};
  ManySms device(sms, {Busy(20 * kUs, {.band = 1}), normal}, kCosts);
  const auto beside = PartsOf(device.Run(20 * kMs, 100 * kMs), sms);
  ManySms other(sms, {normal}, kCosts);
  const auto alone = PartsOf(other.Run(20 * kMs, 100 * kMs), sms);
  EXPECT_GE(beside[1] / alone[0], sms <= 64 ? 0.95 : 0.75);
  EXPECT_LE(device.longest_wait_ns(1), 20 * kUs + RoundNs(sms)) << "within batches, too";
}

TEST_P(ManySmsTest, AClientThatComesIsLetInSoon) {
  const uint32_t sms = this->sms();
  const MadeUpClient small{.blocks = 1, .block_ns = 50 * kUs, .pause_ns = 1 * kMs};
  ManySms device(sms, {Busy(20 * kUs), Busy(7 * kUs), small}, kCosts);
  device.Run(20 * kMs, 100 * kMs);
  EXPECT_LE(device.longest_wait_ns(2), 100 * kUs + RoundNs(sms)) << "far sooner than a batch takes on 512 SMs";
}

TEST_P(ManySmsTest, OneAtATimeHasTheDeviceUnderTimeSlice) {
  const uint32_t sms = this->sms();
  ManySms device(sms, {Busy(20 * kUs), Busy(160 * kUs)}, kCosts, Policy::kTimeSlice);
  const auto parts = PartsOf(device.Run(20 * kMs, 200 * kMs), sms);
  EXPECT_NEAR(parts[0] / parts[1], 1, sms <= 64 ? 0.15 : 0.25);
  EXPECT_GT(parts[0] + parts[1], 0.5) << "with a turn at the lock for each SM at each change";
}

INSTANTIATE_TEST_SUITE_P(Sms, ManySmsTest, testing::Combine(testing::Values(8, 16, 64, 512), testing::Bool()),
                         [](const auto& info) {
                           return std::to_string(std::get<0>(info.param)) +
                                  (std::get<1>(info.param) ? "InAnyOrder" : "InOrder");
                         });

TEST(ManySms, TheLockDoesNotBoundWhatTheyDo) {
  double held = 0;
  for (const uint32_t sms : {16u, 128u, 512u}) {
    std::vector<MadeUpClient> clients(8, BusyOn(sms, 10 * kUs));
    ManySms device(sms, clients, kCosts);
    const ManySmsResult result = device.Run(20 * kMs, 50 * kMs);
    EXPECT_LT(result.HeldPart(), 0.5) << sms;
    EXPECT_GT(PartsOf(result, sms)[0] * 8, 0.85) << sms;
    held = result.HeldPart();
  }
  EXPECT_GT(held, 0);
}

// A grid whose blocks take longer than the ones before them did: the estimate is wrong, and whoever has taken many is
// late.
TEST(ManySms, WhatOneCannotDoInTimeOthersDo) {
  constexpr uint32_t kSms = 64;
  for (const bool any_order : {false, true}) {
    ManySms device(kSms, {{.blocks = 1'000'000, .block_ns = 1 * kUs, .pause_ns = kMs, .any_order = any_order}}, kCosts);
    const ManySmsResult result = device.Run(0, 100 * kMs);
    EXPECT_GT(PartsOf(result, kSms)[0], 0.85) << any_order;
  }
}

}  // namespace
}  // namespace tutti::device::cpu
