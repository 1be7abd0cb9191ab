#include "wire/limit_text.h"

#include <gtest/gtest.h>

namespace tutti::wire {
namespace {

TEST(Percentage, TakesDecimalsAndPrintsOne) {
  EXPECT_EQ(FormatPercentage(ParsePercentage("12.5").value()), "12.5");
  EXPECT_EQ(FormatPercentage(ParsePercentage("100").value()), "100.0");
  EXPECT_EQ(FormatPercentage(ParsePercentage("+7").value()), "7.0");
}

TEST(Percentage, RefusesWhatIsNoShareOfADevice) {
  for (const char* text : {"", "0", "101", "-5", "abc", "50%", "nan", "inf", "1 2", "100.5"}) {
    EXPECT_FALSE(ParsePercentage(text)) << text;
  }
}

TEST(Memory, TakesGAndM) {
  EXPECT_EQ(ParseMemory("2G").value(), 2ull << 30);
  EXPECT_EQ(ParseMemory("512M").value(), 512ull << 20);
  EXPECT_EQ(ParseMemory("512MB").value(), 512ull << 20);
  EXPECT_EQ(FormatMemory(2ull << 30), "2G");
  EXPECT_EQ(FormatMemory(512ull << 20), "512M");
}

TEST(Memory, RefusesOtherUnitsAndOverflow) {
  for (const char* text : {"", "5", "5K", "2g", "xx", "-1G", "1.5G", "0G", "G", "99999999999999G"}) {
    EXPECT_FALSE(ParseMemory(text)) << text;
  }
}

TEST(MemoryLimits, TheIdentifierSetLastHolds) {
  MemoryLimits limits;
  limits.Set("0", 10);
  limits.Set("GPU-1234abcd", 20);
  EXPECT_EQ(limits.Of(0, "GPU-1234abcd-0000"), 20u);
  limits.Set("0", 30);
  EXPECT_EQ(limits.Of(0, "GPU-1234abcd-0000"), 30u);
  EXPECT_EQ(limits.Of(1, "GPU-ffff"), kNoMemoryLimit);
}

TEST(MemoryLimits, AnswersUnderExactlyTheIdentifierUsed) {
  MemoryLimits limits;
  limits.Set("GPU-1234", 20);
  EXPECT_EQ(limits.Get("GPU-1234"), 20u);
  EXPECT_FALSE(limits.Get("0"));
}

TEST(MemoryLimits, ReadsTheEnvironmentForm) {
  const auto limits = MemoryLimits::Parse("0=1G,1=512MB,GPU-12ab=900M");
  ASSERT_TRUE(limits);
  EXPECT_EQ(limits->Of(0, "GPU-ff"), 1ull << 30);
  EXPECT_EQ(limits->Of(1, "GPU-ff"), 512ull << 20);
  EXPECT_EQ(limits->Of(2, "GPU-12ab-cd"), 900ull << 20);
  EXPECT_TRUE(MemoryLimits::Parse("")->empty());
  for (const char* text : {"1G", "=1G", "x=1G", "0=", "0=1G,,"}) EXPECT_FALSE(MemoryLimits::Parse(text)) << text;
}

TEST(MemoryLimits, TellsWhichEntriesNameNoDevice) {
  const auto limits = MemoryLimits::Parse("0=1G,7=1G,GPU-12=1G,GPU-ff=1G");
  EXPECT_EQ(limits->Unknown({"GPU-1234", "GPU-5678"}), (std::vector<std::string>{"7", "GPU-ff"}));
}

TEST(DeviceIdentifier, IsAnOrdinalOrTheStartOfAUuid) {
  for (const char* text : {"0", "15", "GPU-12ab", "MIG-00-11"}) EXPECT_TRUE(IsDeviceIdentifier(text)) << text;
  for (const char* text : {"", "xyz", "GPU-", "GPU-xyz", "-1", "0x1"}) EXPECT_FALSE(IsDeviceIdentifier(text)) << text;
}

}  // namespace
}  // namespace tutti::wire
