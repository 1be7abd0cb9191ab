#include "daemon/access/visitor.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace tutti::daemon {
namespace {

constexpr uint64_t kHere = 100, kThere = 200;

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
