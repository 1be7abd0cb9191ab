#include "kubernetes/device_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti::kubernetes {
namespace {

const std::vector<sharing::DeviceFacts> kTwo = {{"A", "", 1, 1, ""}, {"B", "", 1, 1, ""}};

TEST(DeviceTable, ADeviceThatIsMissingIsSickAndComesBack) {
  DeviceTable table;
  table.Publish(kTwo);
  table.Publish({kTwo[0]});
  EXPECT_THAT(table.Get().ailments, testing::ElementsAre("", "the server no longer has it"));
  table.Publish(kTwo);
  EXPECT_THAT(table.Get().ailments, testing::ElementsAre("", ""));
  EXPECT_EQ(table.Get().devices.size(), 2u);
}

TEST(DeviceTable, OnlyAChangeIsANewVersion) {
  DeviceTable table;
  table.Publish(kTwo);
  const uint64_t version = table.Get().version;
  table.Publish(kTwo);
  EXPECT_EQ(table.Get().version, version);
  table.MarkAllSick("gone");
  table.MarkAllSick("gone");
  EXPECT_EQ(table.Get().version, version + 2);
}

}  // namespace
}  // namespace tutti::kubernetes
