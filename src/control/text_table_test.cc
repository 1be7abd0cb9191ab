#include "control/text_table.h"

#include <gtest/gtest.h>

namespace tutti::control {
namespace {

const TextTable kTable{.columns = {"PID", "MAWS NS"}, .rows = {{"7", "default"}, {"4711", "-"}}};

TEST(TextTable, ColumnsAreAsWideAsTheirEntries) {
  EXPECT_EQ(FormatText(kTable, true), "PID   MAWS NS\n7     default\n4711  -\n");
  EXPECT_EQ(FormatText(kTable, false), "7     default\n4711  -\n");
}

TEST(TextTable, CsvQuotesWhatWouldBreakIt) {
  EXPECT_EQ(FormatCsv({.columns = {"a", "b"}, .rows = {{"x,y", "say \"hi\""}}}, true),
            "a,b\n\"x,y\",\"say \"\"hi\"\"\"\n");
}

TEST(TextTable, JsonHasKeysAndNulls) {
  EXPECT_EQ(FormatJson(kTable), "[{\"pid\":\"7\",\"maws_ns\":\"default\"},{\"pid\":\"4711\",\"maws_ns\":null}]\n");
  EXPECT_EQ(FormatJson({}), "[]\n");
}

TEST(TextTable, AHostileEntryStaysOnItsLine) {
  EXPECT_EQ(FormatText({.columns = {"c"}, .rows = {{"a\nb\x1b[2J"}}}, false), "a?b?[2J\n");
}

TEST(OutputFormat, IsOneOfThreeWithOrWithoutHeader) {
  EXPECT_FALSE(ParseOutputFormat("csv,noheader")->header);
  EXPECT_EQ(ParseOutputFormat("json")->kind, OutputFormat::Kind::kJson);
  for (const char* text : {"", "xml", "csv,", "csv,header", "CSV"}) EXPECT_FALSE(ParseOutputFormat(text)) << text;
}

}  // namespace
}  // namespace tutti::control
