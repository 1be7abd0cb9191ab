#include "kubernetes/entitlement.h"

#include <gtest/gtest.h>

namespace tutti::kubernetes {
namespace {

const std::vector<sharing::DeviceFacts> kDevices = {{"GPU-a", "CPU", 8ull << 30, 2, "8.0"}};

PodContainer Holder(const std::string& pod, std::map<std::string, std::string> annotations, const std::string& id) {
  return {"default", pod, "", "main", std::move(annotations), {{"nvidia.com/gpu", id}}};
}

Entitlements Of(const std::vector<PodContainer>& holders) {
  return Entitle(
      sharing::ReadConfig("{sharing: {mps: {resources: [{name: gpu, replicas: 4}]}}, tutti: {annotations: true}}", "f")
          .value(),
      kDevices, holders);
}

Entitlement Granted(const Entitlements& all, const std::string& pod) {
  return all.granted.at({"default", pod, "main", "GPU-a"});
}

TEST(Entitlement, WithoutAnnotationsItIsTheReplicas) {
  const auto all = Of({Holder("a", {}, "GPU-a::0")});
  EXPECT_EQ(Granted(all, "a").percentage, 25);
  EXPECT_EQ(Granted(all, "a").memory_bytes, 2ull << 30);
  EXPECT_FALSE(Granted(all, "a").asked);
}

TEST(Entitlement, AnAnnotationTakesWhatNobodyHolds) {
  const auto all = Of({Holder("a", {{"tutti.dev/threads", "60"}, {"tutti.dev/memory.main", "5Gi"}}, "GPU-a::0"),
                       Holder("b", {}, "GPU-a::1")});
  EXPECT_EQ(Granted(all, "a").percentage, 60);
  EXPECT_EQ(Granted(all, "a").memory_bytes, 5ull << 30);
  EXPECT_EQ(Granted(all, "b").percentage, 25);
  EXPECT_TRUE(all.refused.empty());
}

TEST(Entitlement, MoreThanThereIsIsRefusedWholly) {
  const auto all = Of({Holder("a", {{"tutti.dev/threads", "90"}, {"tutti.dev/memory", "1Gi"}}, "GPU-a::0"),
                       Holder("b", {}, "GPU-a::1")});
  EXPECT_EQ(Granted(all, "a").percentage, 25);
  EXPECT_EQ(Granted(all, "a").memory_bytes, 2ull << 30) << "not half of it";
  ASSERT_EQ(all.refused.size(), 1u);
  EXPECT_EQ(all.refused[0],
            "default/a, container main: threads 90% are more than the 75% that GPU-a has left; it keeps the share of "
            "its replicas");
}

TEST(Entitlement, ValuesThatMakeNoSenseAreRefused) {
  for (const char* threads : {"0", "-5", "101", "banana", "", "nan", "1e2"}) {
    EXPECT_EQ(Of({Holder("a", {{"tutti.dev/threads", threads}}, "GPU-a::0")}).refused.size(), 1u) << threads;
  }
  for (const char* memory : {"0", "9Gi", "1GB", ""})
    EXPECT_EQ(Of({Holder("a", {{"tutti.dev/memory", memory}}, "GPU-a::0")}).refused.size(), 1u) << memory;
}

TEST(Entitlement, TheFirstToAskGetsIt) {
  const auto all = Of(
      {Holder("a", {{"tutti.dev/threads", "70"}}, "GPU-a::0"), Holder("b", {{"tutti.dev/threads", "70"}}, "GPU-a::1")});
  EXPECT_EQ(Granted(all, "a").percentage, 70);
  EXPECT_EQ(Granted(all, "b").percentage, 25);
}

}  // namespace
}  // namespace tutti::kubernetes
