#include "base/printable.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

TEST(Printable, LeavesNothingThatATerminalObeys) {
  EXPECT_EQ(Printable("a\x1b[2Jb\r\n\x7f"), "a?[2Jb???");
  EXPECT_EQ(Printable("a\xc2\x9b"
                      "2Jb\xc2\x80\xc2\x9f"),
            "a?2Jb??");
  EXPECT_EQ(Printable(std::string_view("\0x", 2)), "?x");
}

TEST(Printable, LeavesLinesAndTabsOfALongerText) {
  EXPECT_EQ(PrintableLines("a\tb\n\nc\x1b[2J\rd\xc2\x9b\ne"), "a\tb\n\nc?[2J?d?\ne");
  EXPECT_EQ(PrintableLines("\n"), "\n");
  EXPECT_EQ(PrintableLines(""), "");
}

TEST(Printable, LeavesLettersAsTheyAre) {
  EXPECT_EQ(Printable("gr\xc3\xbc\xc3\x9f \xc2\xa0 \xe2\x82\xac"), "gr\xc3\xbc\xc3\x9f \xc2\xa0 \xe2\x82\xac");
  EXPECT_EQ(Printable("\xc2"), "\xc2");
}

}  // namespace
}  // namespace tutti
