#include "daemon/partitions/partition_commands.h"

#include <gmock/gmock.h>

#include "control/words.h"

namespace tutti::daemon {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using wire::SmRange;

constexpr uint32_t kSms = 8;

Partition& Make(PartitionTable& table, Partition partition) {
  partition.device = "GPU-cb12";
  EXPECT_TRUE(table.Create(partition, {.sm_count = kSms, .traits = wire::kDevicePartitions}));
  return table.Add(std::move(partition));
}

bool Restore(const std::string& line, PartitionTable& table) {
  return RestorePartition(control::SplitWords(line), table);
}

TEST(PartitionCommands, PartitionsKeepTheirIdsTheirSmsAndTheirClients) {
  PartitionTable before;
  Make(before, {.id = "a", .chunks = 2});
  Make(before, {.id = "b", .chunks = 1});
  Make(before, {.id = "c", .server = "training", .name = "large", .chunks = 3, .include_remainder = true});
  before.Remove(before.all()[1]);
  Make(before, {.id = "d", .chunks = 2});  // in two pieces
  before.NoteClient("GPU-cb12/a", 17);
  before.NoteClient("GPU-cb12/a", 18);

  PartitionTable after;
  for (const std::string& command : PartitionCommands(before)) EXPECT_TRUE(Restore(command, after)) << command;
  ASSERT_THAT(after.all(), SizeIs(3));
  EXPECT_EQ(after.all()[0].full_id(), "GPU-cb12/a");
  EXPECT_THAT(after.all()[2].sms, ElementsAre(SmRange{0, 2, 1}, SmRange{0, 6, 1}));
  EXPECT_EQ(after.FreeSms("GPU-cb12", kSms), before.FreeSms("GPU-cb12", kSms));
  const Partition* const named = after.Named("training", "GPU-cb12", "large");
  ASSERT_NE(named, nullptr);
  EXPECT_TRUE(named->include_remainder);
  EXPECT_EQ(named->chunks, 3u);
  EXPECT_TRUE(after.InUse(after.all()[0], {{18}}));
  EXPECT_FALSE(after.InUse(after.all()[2], {{17, 18}}));
}

TEST(PartitionCommands, APartitionWithoutSmsIsStillOnlyConfigured) {
  PartitionTable before;
  before.Add({.device = "GPU-cb12", .id = "a", .server = "training", .name = "later", .chunks = 2});
  PartitionTable after;
  EXPECT_TRUE(Restore(PartitionCommands(before)[0], after));
  ASSERT_THAT(after.all(), SizeIs(1));
  EXPECT_FALSE(after.all()[0].created());
}

TEST(PartitionCommands, WhatCannotBeUnderstoodIsLeftOut) {
  PartitionTable table;
  EXPECT_FALSE(Restore("set_policy share", table));
  EXPECT_FALSE(Restore("", table));
  for (const char* line : {"restore_sm_partition", "restore_sm_partition device=GPU-cb12 id=a chunks=x",
                           "restore_sm_partition device=GPU-cb12 id=a chunks=1 sms=banana",
                           "restore_sm_partition device=GPU-cb12 id=a chunks=1 sms=4294967295+2"}) {
    EXPECT_TRUE(Restore(line, table));
    EXPECT_THAT(table.all(), IsEmpty()) << line;
  }
}

TEST(PartitionCommands, NoSmIsGivenOutTwice) {
  PartitionTable table;
  EXPECT_TRUE(Restore("restore_sm_partition device=GPU-cb12 id=a chunks=2 sms=2+2 of_a_newer_version=1", table));
  EXPECT_TRUE(Restore("restore_sm_partition device=GPU-cb12 id=b chunks=1 sms=3+1", table));
  EXPECT_TRUE(Restore("restore_sm_partition device=GPU-cb12 id=a chunks=1 sms=5+1", table));
  EXPECT_TRUE(Restore("restore_sm_partition device=GPU-ff id=b chunks=1 sms=3+1", table));
  EXPECT_THAT(table.all(), SizeIs(2));
}

}  // namespace
}  // namespace tutti::daemon
