#include "kubernetes/allocation_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kubernetes/replica_id.h"

namespace tutti::kubernetes {
namespace {

using testing::ElementsAre;

const std::map<std::string, int64_t> kTwoOfFour = {{"A", 4}, {"B", 4}};

TEST(ReplicaId, IsTheUuidAndANumber) {
  EXPECT_EQ(ReplicaId::Parse("GPU-1::12").replica, 12u);
  EXPECT_EQ(ReplicaId::Parse("GPU-1::12").Text(), "GPU-1::12");
  for (const char* text : {"GPU-1", "GPU-1::", "GPU-1::x", "GPU-1::-1", "GPU-1::00", "GPU-1::+1", "GPU-1::012"})
    EXPECT_FALSE(ReplicaId::Parse(text).replica) << text;
}

TEST(AllocationPolicy, DistributedTakesTheLeastUsedDevice) {
  AllocationPolicy policy(false, kTwoOfFour);
  EXPECT_THAT(policy.Prefer({"A::0", "B::0", "B::1"}, {}, 1).value(), ElementsAre("B::0"));
  EXPECT_THAT(policy.Prefer({"A::0", "A::1", "B::0", "B::1"}, {}, 2).value(),
              testing::UnorderedElementsAre("A::0", "B::0"));
}

TEST(AllocationPolicy, PackedTakesTheMostUsedDevice) {
  AllocationPolicy policy(true, kTwoOfFour);
  EXPECT_THAT(policy.Prefer({"A::0", "B::0", "B::1", "B::2"}, {}, 1).value(), ElementsAre("A::0"));
  EXPECT_THAT(policy.Prefer({"A::0", "A::1", "B::0", "B::1", "B::2"}, {}, 2).value(), ElementsAre("A::0", "A::1"));
}

TEST(AllocationPolicy, EqualDevicesTakeTurns) {
  AllocationPolicy policy(false, kTwoOfFour);
  const std::vector<std::string> all = {"A::0", "A::1", "A::2", "A::3", "B::0", "B::1", "B::2", "B::3"};
  const auto first = policy.Prefer(all, {}, 1).value();
  const auto second = policy.Prefer(all, {}, 1).value();
  EXPECT_NE(ReplicaId::Parse(first[0]).uuid, ReplicaId::Parse(second[0]).uuid);
}

TEST(AllocationPolicy, WhatMustBeIncludedIs) {
  AllocationPolicy policy(false, kTwoOfFour);
  EXPECT_THAT(policy.Prefer({"A::0", "B::0", "B::1"}, {"B::1"}, 2).value(), testing::Contains("B::1"));
  EXPECT_FALSE(policy.Prefer({"A::0"}, {"B::1"}, 1));
  EXPECT_FALSE(policy.Prefer({"A::0"}, {"A::0"}, 0));
}

TEST(AllocationPolicy, MoreThanThereIsIsRefused) {
  AllocationPolicy policy(false, kTwoOfFour);
  EXPECT_FALSE(policy.Prefer({"A::0"}, {}, 2));
  EXPECT_FALSE(policy.Prefer({"A::0"}, {}, -1));
}

}  // namespace
}  // namespace tutti::kubernetes
