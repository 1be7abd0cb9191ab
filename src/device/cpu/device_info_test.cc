#include "device/cpu/device_info.h"

#include <gtest/gtest.h>

#include <cstring>

#include "device/cpu/settings.h"

namespace tutti::device::cpu {
namespace {

TEST(DeviceInfo, DevicesOfOneMachineHaveOneNameAndUuidsOfTheirOwn) {
  CpuSettings settings;
  settings.devices = 2;
  const wire::DeviceInfo first = DescribeDevice(settings, 0), second = DescribeDevice(settings, 1);
  EXPECT_STREQ(first.name, "Tutti CPU Device");
  EXPECT_STREQ(second.name, first.name);
  EXPECT_NE(std::memcmp(&first.uuid, &second.uuid, sizeof first.uuid), 0);
}

}  // namespace
}  // namespace tutti::device::cpu
