#include "daemon/partitions/partition_table.h"

#include <gmock/gmock.h>

#include "control/client_table.h"

namespace tutti::daemon {
namespace {

using testing::ElementsAre;
using wire::SmRange;

const wire::ServedDevice kDevice{.uuid = {0xcb, 0x12}, .sm_count = 8, .traits = wire::kDevicePartitions};
const std::string kUuid = control::FormatUuid(kDevice.uuid);

Partition& Make(PartitionTable& table, uint32_t chunks) {
  Partition partition{.device = kUuid, .id = NewPartitionId(2), .chunks = chunks};
  EXPECT_TRUE(table.Create(partition, kDevice));
  return table.Add(std::move(partition));
}

TEST(PartitionTable, PartitionsNeverShareAnSm) {
  PartitionTable table;
  EXPECT_THAT(Make(table, 3).sms, ElementsAre(SmRange{0, 0, 3}));
  EXPECT_THAT(Make(table, 5).sms, ElementsAre(SmRange{0, 3, 5}));
  Partition one{.device = kUuid, .chunks = 1};
  const auto refused = table.Create(one, kDevice);
  ASSERT_FALSE(refused);
  EXPECT_EQ(
      refused.error().text,
      "Failed to fulfill the requested SM partition of 1 chunks, error CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION");
}

TEST(PartitionTable, ADeviceWithoutPartitionsGetsNone) {
  wire::ServedDevice device = kDevice;
  device.traits = 0;
  Partition partition{.device = kUuid, .chunks = 1};
  const auto refused = PartitionTable().Create(partition, device);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text, "device " + kUuid + " has no SM partitions yet");
}

TEST(PartitionTable, GapsAreUsedAgain) {
  PartitionTable table;
  Make(table, 2);
  Make(table, 3);
  table.Remove(table.all().front());
  EXPECT_THAT(Make(table, 4).sms, ElementsAre(SmRange{0, 0, 2}, SmRange{0, 5, 2}));
  EXPECT_EQ(table.FreeSms(kUuid, kDevice.sm_count), 1u);
}

TEST(PartitionTable, SmsAreGivenInChunksOfTheDevice) {
  const wire::ServedDevice device{
      .uuid = {0xcb, 0x12}, .sm_count = 21, .sms_per_chunk = 8, .traits = wire::kDevicePartitions};
  PartitionTable table;
  Partition first{.device = kUuid, .id = "a", .chunks = 1};
  EXPECT_TRUE(table.Create(first, device));
  EXPECT_THAT(table.Add(first).sms, ElementsAre(SmRange{0, 0, 8}));
  Partition rest{.device = kUuid, .id = "b", .chunks = 1, .include_remainder = true};
  EXPECT_TRUE(table.Create(rest, device));
  EXPECT_THAT(table.Add(rest).sms, ElementsAre(SmRange{0, 8, 13}));
  Partition none{.device = kUuid, .id = "c", .chunks = 1};
  EXPECT_FALSE(table.Create(none, device)) << "the last five are no chunk";
}

TEST(PartitionTable, AClientHasItsPartitionBySomeOfItsName) {
  PartitionTable table;
  const std::string id = Make(table, 3).id;
  EXPECT_THAT(table.RangesFor("GPU-cb12/" + id.substr(0, 8), "", {kDevice}, true), ElementsAre(SmRange{0, 0, 3}));
}

TEST(PartitionTable, WhoHasNoPartitionHasNoSmUnderStaticPartitioning) {
  PartitionTable table;
  Make(table, 3);
  EXPECT_THAT(table.RangesFor("", "", {kDevice}, true), ElementsAre(SmRange{0, 0, 0}));
  EXPECT_THAT(table.RangesFor("GPU-ff/xyz", "", {kDevice}, false), ElementsAre(SmRange{0, 0, 0}));
}

TEST(PartitionTable, WhoHasNoPartitionHasTheRestOtherwise) {
  PartitionTable table;
  EXPECT_THAT(table.RangesFor("", "", {kDevice}, false), ElementsAre());
  Make(table, 3);
  EXPECT_THAT(table.RangesFor("", "", {kDevice}, false), ElementsAre(SmRange{0, 3, 5}));
}

TEST(PartitionTable, ForgetsClientsThatHaveEndedWithoutBeingAsked) {
  PartitionTable table;
  const Partition& partition = Make(table, 1);
  const auto mine = static_cast<uint32_t>(getpid());
  table.NoteClient(partition.full_id(), mine);
  constexpr uint32_t kNoProcess = 1u << 30;  // above what the kernel gives
  for (uint32_t i = 0; i < 10'000; ++i) table.NoteClient(partition.full_id(), kNoProcess + i);
  EXPECT_LE(table.ClientsOf(partition).size(), 65u);
  EXPECT_TRUE(table.ClientsOf(partition).contains(mine));
}

TEST(PartitionTable, IsInUseWhileAClientOfItLives) {
  PartitionTable table;
  const Partition& partition = Make(table, 1);
  table.NoteClient(partition.full_id(), 77);
  EXPECT_TRUE(table.InUse(partition, {{77}}));
  EXPECT_FALSE(table.InUse(partition, {{78}}));
}

// It may be a client of a server that is being adopted.
TEST(PartitionTable, IsInUseWhileAServerHasNotSaidWhoItsClientsAre) {
  PartitionTable table;
  const Partition& partition = Make(table, 1);
  constexpr uint32_t kEnded = 1 << 30;  // no process has such a number
  table.NoteClient(partition.full_id(), static_cast<uint32_t>(getpid()));
  table.NoteClient(partition.full_id(), kEnded);
  EXPECT_TRUE(table.InUse(partition, {.pids = {}, .all = false}));
  EXPECT_EQ(table.ClientsOf(partition), std::set<uint32_t>{static_cast<uint32_t>(getpid())});
  EXPECT_FALSE(table.InUse(partition, {.pids = {}, .all = true}));
}

}  // namespace
}  // namespace tutti::daemon
