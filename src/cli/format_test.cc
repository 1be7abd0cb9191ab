#include "cli/format.h"

#include <gtest/gtest.h>

namespace tutti::cli {
namespace {

TEST(Format, ScalesNumbers) {
  EXPECT_EQ(Bytes(0), "0 B");
  EXPECT_EQ(Bytes(1536), "1.5 KiB");
  EXPECT_EQ(Bytes(3ull << 30), "3.0 GiB");
  EXPECT_EQ(Count(999), "999");
  EXPECT_EQ(Count(12'345), "12.3k");
  EXPECT_EQ(Percent(0.125), "12.5%");
}

TEST(Format, TablesAlignAndEndLinesWithoutBlanks) {
  EXPECT_EQ(Table({{"NAME", "N"}, {"a", "100"}, {"longer", "7"}}, {1}),
            "NAME      N\n"
            "a       100\n"
            "longer    7\n");
}

TEST(Format, ATableDisarmsItsCells) {
  EXPECT_EQ(Table({{"NAME"}, {"a\x1b[2J\nb"}}),
            "NAME\n"
            "a?[2J?b\n");
}

TEST(Format, ShortensAndDisarms) {
  EXPECT_EQ(Shortened("abcdefgh", 6), "abc...");
  EXPECT_EQ(Shortened("a\x1b[2J", 20), "a?[2J");
}

TEST(Format, ACommandLosesItsDirectoryAndKeepsItsArguments) {
  EXPECT_EQ(CommandName("/a/b/nbody --in /tmp/x"), "nbody --in /tmp/x");
  EXPECT_EQ(CommandName("nbody"), "nbody");
}

}  // namespace
}  // namespace tutti::cli
