#include "wire/visible_devices.h"

#include <gtest/gtest.h>

namespace tutti::wire {
namespace {

using Indices = std::vector<uint32_t>;

class VisibleDevicesTest : public testing::Test {
 protected:
  VisibleDevicesTest() : devices_(3) {
    for (size_t i = 0; i < devices_.size(); ++i) devices_[i].uuid[0] = static_cast<uint8_t>(0xa0 + i);
  }
  Indices Visible(std::string_view list) const { return VisibleDevices(list, devices_); }
  std::vector<DeviceInfo> devices_;
};

TEST_F(VisibleDevicesTest, NamesThemInOrder) {
  EXPECT_EQ(Visible("2,0"), (Indices{2, 0}));
  EXPECT_EQ(Visible(" 1 , 2"), (Indices{1, 2}));
}

TEST_F(VisibleDevicesTest, EndsAtTheFirstThatNamesNothing) {
  EXPECT_EQ(Visible("1,7,0"), (Indices{1}));
  EXPECT_EQ(Visible("-1"), Indices{});
  EXPECT_EQ(Visible(""), Indices{});
  EXPECT_EQ(Visible("0,0,1"), (Indices{0}));
  EXPECT_EQ(Visible("1x"), Indices{});
}

TEST_F(VisibleDevicesTest, TakesUuidsAndTheirBeginnings) {
  EXPECT_EQ(Visible(UuidText(devices_[1].uuid)), (Indices{1}));
  EXPECT_EQ(Visible("GPU-a2,GPU-a0"), (Indices{2, 0}));
  EXPECT_EQ(UuidText(devices_[0].uuid), "GPU-a0000000-0000-0000-0000-000000000000");
}

}  // namespace
}  // namespace tutti::wire
