#include "daemon/access/visitor.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "daemon/access/memory_accounting.h"

namespace tutti::daemon {
namespace {

constexpr uint64_t kHere = 100, kThere = 200;

wire::ClientStatus Client(uint32_t uid, uint64_t pid_namespace, uint32_t pid = 0) {
  return {.pid = pid, .uid = uid, .pid_namespace = pid_namespace};
}

TEST(Visitor, RootOfAContainerChangesNoServerAndSeesItsOwnClients) {
  const Visitor root{.pid = 7, .uid = 0, .pid_namespace = kThere};
  EXPECT_FALSE(root.MayChangeServerOf(0));
  EXPECT_FALSE(root.MaySee(Client(0, kHere)));
  EXPECT_FALSE(root.MaySee(Client(1000, kThere)));
  EXPECT_TRUE(root.MaySee(Client(0, kThere)));
}

TEST(Visitor, AUserAtHomeSeesTheirClientsInContainersToo) {
  const Visitor user{.pid = 7, .uid = 1000, .pid_namespace = kHere, .at_home = true};
  EXPECT_TRUE(user.MayChangeServerOf(1000));
  EXPECT_FALSE(user.MayChangeServerOf(0));
  EXPECT_TRUE(user.MaySee(Client(1000, kThere)));
  EXPECT_FALSE(user.MaySee(Client(1001, kHere)));
}

TEST(Visitor, WhatCannotBeToldCountsAgainstAVisitor) {
  const Visitor unknown{.uid = 0};
  EXPECT_FALSE(unknown.MayChangeServerOf(0));
  EXPECT_FALSE(unknown.MaySee(Client(0, 0)));
}

TEST(Visitor, WhereNoNamespaceCanBeToldTheCgroupIs) {
  const auto self = static_cast<uint32_t>(getpid());
  const std::string cgroup = CgroupOf(self);
  if (cgroup.size() <= 1) GTEST_SKIP() << "needs a cgroup below the root";
  const Visitor same{.uid = 0, .cgroup = cgroup}, other{.uid = 0, .cgroup = cgroup + "/other"},
      root{.uid = 0, .cgroup = "/"};
  EXPECT_TRUE(same.MaySee(Client(0, kThere, self)));
  EXPECT_FALSE(same.MaySee(Client(1, kThere, self)));
  EXPECT_FALSE(other.MaySee(Client(0, kThere, self)));
  EXPECT_FALSE(root.MaySee(Client(0, kThere, 1)));
}

TEST(Visitor, ContainersOfOneUserHaveEachTheirShareOfTheLog) {
  const Visitor one{.uid = 0, .cgroup = "/kubepods/a"}, other{.uid = 0, .cgroup = "/kubepods/b"};
  EXPECT_NE(one.party(), other.party());
  EXPECT_NE(one.party(), Ourselves().party());
}

TEST(Visitor, AContainerIsOnePartyWhateverUserNumbersItTakes) {
  const Visitor one{.uid = 1, .cgroup = "/kubepods/a"}, other{.uid = 2, .cgroup = "/kubepods/a"};
  EXPECT_EQ(one.holder().party, other.holder().party);
  EXPECT_NE(one.holder().part, other.holder().part);
}

TEST(Visitor, AContainerIsOnePartyWhateverCgroupsItMakes) {
  const std::string id(64, 'a');
  for (const std::string& container :
       {"/docker/" + id, "/kubepods.slice/kubepods-pod1.slice/cri-containerd-" + id + ".scope",
        std::string("/machine.slice/machine-a.scope")}) {
    const Visitor one{.uid = 0, .cgroup = container + "/x"}, other{.uid = 0, .cgroup = container + "/y/z"};
    EXPECT_EQ(one.party(), other.party());
    EXPECT_EQ(one.party(), "the container " + container);
  }
}

TEST(Visitor, OnTheirOwnServerUsersTakeNobodysPart) {
  const Visitor user{.uid = 1000, .at_home = true}, container{.uid = 1000, .cgroup = "/kubepods/a"};
  EXPECT_EQ(user.PartyOnServerOf(1000), "");
  EXPECT_EQ(user.PartyOnServerOf(0), "user 1000");
  EXPECT_EQ(container.PartyOnServerOf(1000), container.party());
  EXPECT_EQ(Ourselves().PartyOnServerOf(1000), "");
}

TEST(Visitor, ContainersThatAUserHasMadeAreThatUsers) {
  const Visitor at_home{.uid = 1000, .cgroup = "/user/a", .at_home = true};
  const Visitor below{.uid = 100'007, .cgroup = "/user/b", .made_by = 1000},
      of_root{.uid = 1000, .cgroup = "/kubepods/a", .made_by = 0};
  EXPECT_EQ(below.party(), at_home.party());
  EXPECT_NE(of_root.party(), at_home.party());
}

TEST(Visitor, WhereNoCgroupIsSeenContainersAreToldApartByTheirPidNamespaces) {
  const Visitor one{.uid = 0, .cgroup = "/", .pid_namespace = kHere},
      other{.uid = 0, .cgroup = "/", .pid_namespace = kThere};
  EXPECT_NE(one.party(), other.party());
}

}  // namespace
}  // namespace tutti::daemon
