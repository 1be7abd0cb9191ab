#include "daemon/fair_shares.h"

#include <gtest/gtest.h>

namespace tutti::daemon {
namespace {

TEST(FairShares, WhoHoldsMostGivesBackTheOldest) {
  FairShares shares;
  for (uint64_t item = 1; item <= 5; ++item) shares.Add(item, {.uid = 1, .cgroup = "/a", .pid = 10});
  for (uint64_t item = 6; item <= 8; ++item) shares.Add(item, {.uid = 2, .cgroup = "/a", .pid = 20});
  EXPECT_EQ(shares.ToTakeBack(), 1u);
  shares.Remove(1);
  EXPECT_EQ(shares.ToTakeBack(), 2u);
  EXPECT_EQ(shares.size(), 7u);
}

TEST(FairShares, AProcessDoesNotLockOutTheOthersOfItsUser) {
  FairShares shares;
  shares.Add(1, {.uid = 0, .cgroup = "/pod/a", .pid = 1});
  shares.Add(2, {.uid = 0, .cgroup = "/pod/b", .pid = 2});
  for (uint64_t item = 3; item <= 9; ++item) shares.Add(item, {.uid = 0, .cgroup = "/pod/c", .pid = 3});
  for (uint64_t item = 10; item <= 11; ++item) shares.Add(item, {.uid = 0, .cgroup = "/pod/c", .pid = 4});
  EXPECT_EQ(shares.ToTakeBack(), 3u);  // of the pod with most, of its process with most
}

TEST(FairShares, ManyProcessesOfAContainerCountTogether) {
  FairShares shares;
  shares.Add(1, {.uid = 0, .cgroup = "/pod/a", .pid = 1});
  shares.Add(2, {.uid = 0, .cgroup = "/pod/a", .pid = 1});
  for (uint64_t item = 3; item <= 9; ++item) shares.Add(item, {.uid = 0, .cgroup = "/pod/b", .pid = static_cast<pid_t>(item)});
  const uint64_t item = shares.ToTakeBack();
  EXPECT_GE(item, 3u);
  EXPECT_LE(item, 9u);
}

TEST(FairShares, WhatIsRemovedIsForgotten) {
  FairShares shares;
  EXPECT_EQ(shares.ToTakeBack(), 0u);
  for (uint64_t item = 1; item <= 1000; ++item) shares.Add(item, {.uid = static_cast<uid_t>(item % 7), .cgroup = "/", .pid = static_cast<pid_t>(item % 11)});
  for (uint64_t item = 1; item <= 1000; ++item) shares.Remove(item);
  shares.Remove(1);
  EXPECT_EQ(shares.size(), 0u);
  EXPECT_EQ(shares.ToTakeBack(), 0u);
}

}  // namespace
}  // namespace tutti::daemon
