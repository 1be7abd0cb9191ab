#include "daemon/access/access_policy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "daemon/access/memory_accounting.h"

namespace tutti::daemon {
namespace {

const AccessPolicy kPolicy(/*multi_user=*/false);
constexpr uint64_t kHere = 100, kThere = 200;

wire::ClientStatus Client(uint32_t uid, uint64_t pid_namespace, uint32_t pid = 0) {
  return {.pid = pid, .uid = uid, .pid_namespace = pid_namespace};
}

TEST(AccessPolicy, RootOfAContainerChangesNoServerAndSeesItsOwnClients) {
  const Visitor root{.pid = 7, .uid = 0, .pid_namespace = kThere};
  EXPECT_FALSE(kPolicy.MayChangeServerOf(root, 0));
  EXPECT_FALSE(kPolicy.MaySee(root, Client(0, kHere)));
  EXPECT_FALSE(kPolicy.MaySee(root, Client(1000, kThere)));
  EXPECT_TRUE(kPolicy.MaySee(root, Client(0, kThere)));
}

TEST(AccessPolicy, AUserAtHomeSeesTheirClientsInContainersToo) {
  const Visitor user{.pid = 7, .uid = 1000, .pid_namespace = kHere, .at_home = true};
  EXPECT_TRUE(kPolicy.MayChangeServerOf(user, 1000));
  EXPECT_FALSE(kPolicy.MayChangeServerOf(user, 0));
  EXPECT_TRUE(kPolicy.MaySee(user, Client(1000, kThere)));
  EXPECT_FALSE(kPolicy.MaySee(user, Client(1001, kHere)));
}

TEST(AccessPolicy, WhatCannotBeToldCountsAgainstAVisitor) {
  const Visitor unknown{.uid = 0};
  EXPECT_FALSE(kPolicy.MayChangeServerOf(unknown, 0));
  EXPECT_FALSE(kPolicy.MaySee(unknown, Client(0, 0)));
}

TEST(AccessPolicy, WhereNoNamespaceCanBeToldTheCgroupIs) {
  const auto self = static_cast<uint32_t>(getpid());
  const std::string cgroup = CgroupOf(self);
  if (cgroup.size() <= 1) GTEST_SKIP() << "needs a cgroup below the root";
  const Visitor same{.uid = 0, .cgroup = cgroup}, other{.uid = 0, .cgroup = cgroup + "/other"},
      root{.uid = 0, .cgroup = "/"};
  EXPECT_TRUE(kPolicy.MaySee(same, Client(0, kThere, self)));
  EXPECT_FALSE(kPolicy.MaySee(same, Client(1, kThere, self)));
  EXPECT_FALSE(kPolicy.MaySee(other, Client(0, kThere, self)));
  EXPECT_FALSE(kPolicy.MaySee(root, Client(0, kThere, 1)));
}

TEST(AccessPolicy, AUserSeesTheServerThatServesThemAndInMultiUserModeTheOneOfAll) {
  const Visitor user{.uid = 1000, .at_home = true, .served_as = 1000};
  EXPECT_TRUE(kPolicy.MaySeeServerOf(user, 1000));
  EXPECT_FALSE(kPolicy.MaySeeServerOf(user, 1001));
  const AccessPolicy shared(/*multi_user=*/true);
  EXPECT_TRUE(shared.MaySeeServerOf(user, 1001));
  EXPECT_FALSE(shared.MayChangeServerOf(user, 1001));
}

}  // namespace
}  // namespace tutti::daemon
