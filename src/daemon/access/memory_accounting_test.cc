#include "daemon/access/memory_accounting.h"

#include <gtest/gtest.h>

namespace tutti::daemon {
namespace {

TEST(Cgroup, IsThatOfVersion2OrOfTheMemoryController) {
  EXPECT_EQ(ReadCgroup("0::/kubepods/pod1/c\n"), "/kubepods/pod1/c");
  EXPECT_EQ(ReadCgroup("5:cpu,cpuacct:/a\n4:memory:/docker/x\n0::/\n"), "/docker/x");
  EXPECT_EQ(ReadCgroup("garbage\n:\n"), "");
}

TEST(MemoryAccounting, ALimitOnAGroupIsOneAccountPerDevice) {
  CollectiveLimits limits;
  limits.hard.Set("0", 100);
  limits.soft.Set("GPU-", 50);
  const auto groups = GroupsOf("cgroup:/a", limits, std::vector<wire::ServedDevice>(2));
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0], (wire::MemoryGroupLimit{.name = "cgroup:/a", .device = 0, .soft_bytes = 50, .hard_bytes = 100}));
  EXPECT_EQ(groups[1].hard_bytes, control::kNoMemoryLimit);
  EXPECT_TRUE(GroupsOf("cgroup:/a", {}, std::vector<wire::ServedDevice>(2)).empty());
}

TEST(MemoryAccounting, NothingIsCountedWhereItIsSwitchedOff) {
  LogBudget log;
  MemoryAccounting accounting{.enabled = false, .container_scope = true};
  wire::Attach attach{.pid = 1, .memory_limits = {{0, 100}}};
  AddCgroupAccounts(accounting, std::vector<wire::ServedDevice>(1), "/kubepods/a", log, attach);
  EXPECT_TRUE(attach.memory_groups.empty());
}

TEST(MemoryAccounting, AClientCountsForTheCgroupThatItConnectedIn) {
  LogBudget log;
  MemoryAccounting accounting{.container_scope = true};
  wire::Attach attach{.pid = 1, .memory_limits = {{0, 100}}};  // a number that may be another process's by now
  AddCgroupAccounts(accounting, std::vector<wire::ServedDevice>(1), "/kubepods/a", log, attach);
  ASSERT_EQ(attach.memory_groups.size(), 1u);
  EXPECT_EQ(attach.memory_groups[0].name, "container:/kubepods/a");
}

TEST(MemoryAccounting, AClientWhoseCgroupIsUnknownHasTheLowestLimitsWithAllSuchOfItsParty) {
  LogBudget log;
  MemoryAccounting accounting;
  accounting.cgroups["/a"].hard.Set("0", 300);
  accounting.cgroups["/b"].hard.Set("0", 100);
  accounting.cgroups["/b"].soft.Set("1", 50);
  wire::Attach attach{.pid = 1, .party = "user 7"}, other{.pid = 2, .party = "user 8"};
  AddCgroupAccounts(accounting, std::vector<wire::ServedDevice>(2), "", log, attach);
  AddCgroupAccounts(accounting, std::vector<wire::ServedDevice>(2), "", log, other);
  ASSERT_EQ(attach.memory_groups.size(), 2u);
  EXPECT_EQ(attach.memory_groups[0].hard_bytes, 100u);
  EXPECT_EQ(attach.memory_groups[1].soft_bytes, 50u);
  EXPECT_EQ(attach.memory_groups[1].hard_bytes, control::kNoMemoryLimit);
  EXPECT_NE(attach.memory_groups[0].name, other.memory_groups[0].name);
}

TEST(MemoryAccounting, ClientsOfAPartyWhoseCgroupsAreUnknownShareOneClientsLimit) {
  LogBudget log;
  MemoryAccounting accounting{.container_scope = true};
  wire::Attach attach{.pid = 1, .memory_limits = {{0, 100}}};
  attach.party = "user 7";
  AddCgroupAccounts(accounting, std::vector<wire::ServedDevice>(1), "", log, attach);
  ASSERT_EQ(attach.memory_groups.size(), 1u);
  EXPECT_EQ(attach.memory_groups[0].name, "container:unknown of user 7");
  EXPECT_EQ(attach.memory_groups[0].hard_bytes, 100u);
}

}  // namespace
}  // namespace tutti::daemon
