#include "daemon/access/fair_shares.h"

#include <gtest/gtest.h>

namespace tutti::daemon {
namespace {

TEST(FairShares, WhoHoldsMostGivesBackTheOldest) {
  FairShares shares;
  for (uint64_t item = 1; item <= 5; ++item) shares.Add(item, {.party = "1", .part = "/a", .pid = 10});
  for (uint64_t item = 6; item <= 8; ++item) shares.Add(item, {.party = "2", .part = "/a", .pid = 20});
  EXPECT_EQ(shares.ToTakeBack(), 1u);
  shares.Remove(1);
  EXPECT_EQ(shares.ToTakeBack(), 2u);
  EXPECT_EQ(shares.size(), 7u);
}

TEST(FairShares, AProcessDoesNotLockOutTheOthersOfItsUser) {
  FairShares shares;
  shares.Add(1, {.party = "0", .part = "/pod/a", .pid = 1});
  shares.Add(2, {.party = "0", .part = "/pod/b", .pid = 2});
  for (uint64_t item = 3; item <= 9; ++item) shares.Add(item, {.party = "0", .part = "/pod/c", .pid = 3});
  for (uint64_t item = 10; item <= 11; ++item) shares.Add(item, {.party = "0", .part = "/pod/c", .pid = 4});
  EXPECT_EQ(shares.ToTakeBack(), 3u);  // of the pod with most, of its process with most
}

TEST(FairShares, ManyProcessesOfAContainerCountTogether) {
  FairShares shares;
  shares.Add(1, {.party = "0", .part = "/pod/a", .pid = 1});
  shares.Add(2, {.party = "0", .part = "/pod/a", .pid = 1});
  for (uint64_t item = 3; item <= 9; ++item)
    shares.Add(item, {.party = "0", .part = "/pod/b", .pid = static_cast<pid_t>(item)});
  const uint64_t item = shares.ToTakeBack();
  EXPECT_GE(item, 3u);
  EXPECT_LE(item, 9u);
}

TEST(FairShares, WhatIsRemovedIsForgotten) {
  FairShares shares;
  EXPECT_EQ(shares.ToTakeBack(), 0u);
  for (uint64_t item = 1; item <= 1000; ++item)
    shares.Add(item, {.party = std::to_string(item % 7), .part = "/", .pid = static_cast<pid_t>(item % 11)});
  for (uint64_t item = 1; item <= 1000; ++item) shares.Remove(item);
  shares.Remove(1);
  EXPECT_EQ(shares.size(), 0u);
  EXPECT_EQ(shares.ToTakeBack(), 0u);
}

}  // namespace
}  // namespace tutti::daemon
