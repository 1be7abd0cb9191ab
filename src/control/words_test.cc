#include "control/words.h"

#include <gmock/gmock.h>

namespace tutti::control {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Words, AreSeparatedByAnyBlanks) {
  EXPECT_THAT(SplitWords("  ps  -p\t12 \r"), ElementsAre("ps", "-p", "12"));
  EXPECT_THAT(SplitWords(" \t"), IsEmpty());
}

TEST(List, IsSeparatedByCommas) {
  EXPECT_THAT(SplitList("0, GPU-12 ,2"), ElementsAre("0", "GPU-12", "2"));
  EXPECT_THAT(SplitList("a,,b"), ElementsAre("a", "", "b"));
  EXPECT_THAT(SplitList(""), IsEmpty());
}

TEST(Number, IsDecimalAndWhole) {
  EXPECT_EQ(ParseNumber("4294967295"), 4294967295u);
  for (const char* text : {"", "4294967296", "-1", "+1", "1x", "0x1"}) EXPECT_FALSE(ParseNumber(text)) << text;
}

}  // namespace
}  // namespace tutti::control
