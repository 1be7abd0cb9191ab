#include "sharing/offer.h"

#include <gtest/gtest.h>

namespace tutti::sharing {
namespace {

const std::vector<DeviceFacts> kDevices = {{"GPU-a", "Tesla T4", 46068ull << 20, 40, "7.5"}};

Result<std::vector<Offer>> Offers(const std::string& yaml) {
  return MakeOffers(ReadConfig(yaml, "f").value(), kDevices);
}

Portion First(const std::string& yaml) { return Offers(yaml).value().at(0).portions.at(0); }

TEST(Offer, ReplicasDivideAsNvidiasPluginDivides) {
  const Portion ten = First("sharing: {mps: {resources: [{name: gpu, replicas: 10}]}}");
  EXPECT_EQ(ten.memory_bytes, 4606ull << 20);
  EXPECT_EQ(ten.percentage, 10);
  EXPECT_EQ(First("sharing: {mps: {resources: [{name: gpu, replicas: 7}]}}").percentage, 14);
}

TEST(Offer, WithoutSharingADeviceIsOneWhole) {
  const Offer offer = Offers("version: v1").value().at(0);
  EXPECT_EQ(offer.resource, "nvidia.com/gpu");
  EXPECT_FALSE(offer.replicated);
  EXPECT_FALSE(offer.portions.at(0).percentage);
}

TEST(Offer, TimeSlicingLimitsNothing) {
  EXPECT_FALSE(First("sharing: {timeSlicing: {resources: [{name: gpu, replicas: 4}]}}").memory_bytes);
}

TEST(Offer, ASingleReplicaIsNotThrottled) {
  const Portion one = First("{sharing: {mps: {resources: [{name: gpu, replicas: 1}]}}, tutti: {singleReplica: true}}");
  EXPECT_EQ(one.replicas, 1);
  EXPECT_FALSE(one.percentage);
  EXPECT_FALSE(one.memory_bytes);
}

TEST(Offer, WithoutThrottlingOnlyMemoryIsDivided) {
  const Portion portion = First("{sharing: {mps: {resources: [{name: gpu, replicas: 4}]}}, tutti: {throttle: false}}");
  EXPECT_FALSE(portion.percentage);
  EXPECT_EQ(portion.memory_bytes, 11517ull << 20);
}

TEST(Offer, OversubscriptionMultipliesAndEndsAtTheDevice) {
  const Portion portion = First(
      "{sharing: {mps: {resources: [{name: gpu, replicas: 4}]}}, tutti: {oversubscription: {threads: 2, memory: 8}}}");
  EXPECT_EQ(portion.percentage, 50);
  EXPECT_EQ(portion.memory_bytes, 46068ull << 20);
}

TEST(Offer, UnequalSharesStandBesideEqualOnes) {
  const auto offers = Offers(
                          "tutti: {shares: [{resource: gpu.big, threads: 50}, {resource: gpu.small, replicas: 5, "
                          "threads: 10, memory: 1Gi}]}")
                          .value();
  EXPECT_EQ(offers.at(0).portions.at(0).memory_bytes, 23034ull << 20);
  EXPECT_EQ(offers.at(1).portions.at(0).memory_bytes, 1ull << 30);
}

TEST(Offer, SharesThatAreTogetherMoreThanADeviceAreRefused) {
  EXPECT_EQ(
      Offers("tutti: {shares: [{resource: gpu.big, replicas: 3, threads: 50}]}").error().text,
      "the shares of GPU-a ask for 150% of its threads: make them smaller, or raise tutti.oversubscription.threads");
  EXPECT_EQ(Offers("tutti: {shares: [{resource: gpu.big, replicas: 2, threads: 50, memory: 40Gi}]}").error().text,
            "the shares of GPU-a ask for 81920 MiB of its 46068 MiB: make them smaller, or raise "
            "tutti.oversubscription.memory");
}

TEST(Offer, ATemplateMayGiveAGpuItsOwnNumber) {
  EXPECT_EQ(First("gpu: {sharingStrategy: mps, defaultSharedClientsPerGpu: 2, sharingConfiguration: {nvidia-tesla-t4: "
                  "{sharedClientsPerGpu: 8}}}")
                .replicas,
            8);
  EXPECT_EQ(GpuNameKey("NVIDIA A100-SXM4-40GB"), "a100-sxm4-40gb");
}

}  // namespace
}  // namespace tutti::sharing
