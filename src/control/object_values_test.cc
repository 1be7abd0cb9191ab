#include "control/object_values.h"

#include <gtest/gtest.h>

namespace tutti::control {
namespace {

TEST(ObjectName, IsShortAndPlain) {
  EXPECT_TRUE(CheckObjectName("server", "training_2"));
  EXPECT_TRUE(CheckObjectName("server", std::string(64, 'a')));
  for (const std::string& name :
       {std::string(), std::string("Training"), std::string("a-b"), std::string("../x"), std::string(65, 'a')}) {
    EXPECT_FALSE(CheckObjectName("server", name)) << name;
  }
}

TEST(MemoryLimitsOfProtocol3, HoldForEveryDeviceOrForOne) {
  EXPECT_EQ(ParseMemoryLimits("4G")->Of(3, "GPU-ff"), 4ull << 30);
  EXPECT_EQ(ParseMemoryLimits("1024K")->Of(0, "GPU-ff"), 1ull << 20);
  EXPECT_EQ(ParseMemoryLimits("0=2G,GPU-ab=512M")->Of(1, "GPU-abcd"), 512ull << 20);
  EXPECT_EQ(ParseMemoryLimits("0=2G")->Of(1, "GPU-abcd"), kNoMemoryLimit);
  EXPECT_TRUE(ParseMemoryLimits("none")->empty());
  for (const char* text : {"", "5", "K", "0K", "-1G", "x=1G", "0=", "0=1G,,1=1G", "4g"})
    EXPECT_FALSE(ParseMemoryLimits(text)) << text;
}

}  // namespace
}  // namespace tutti::control
