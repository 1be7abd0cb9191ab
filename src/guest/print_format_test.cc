#include "guest/print_format.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/checked.h"

namespace tutti::guest {
namespace {

// Guest memory that begins at address 4096.
class Memory final : public GuestMemory {
 public:
  static constexpr uint64_t kBase = 4096;

  uint64_t Put(const void* data, size_t bytes) {
    while (bytes_.size() % 8 != 0) bytes_.push_back(0xee);
    const uint64_t address = kBase + bytes_.size();
    const auto* begin = static_cast<const uint8_t*>(data);
    bytes_.insert(bytes_.end(), begin, begin + bytes);
    return address;
  }
  uint64_t Text(const char* text) { return Put(text, std::strlen(text) + 1); }
  bool Read(uint64_t address, void* out, size_t bytes) const override {
    if (!InRange<uint64_t>(address - kBase, bytes, bytes_.size())) return false;
    std::memcpy(out, bytes_.data() + (address - kBase), bytes);
    return true;
  }

 private:
  std::vector<uint8_t> bytes_;
};

TEST(PrintFormat, ArgumentsLieAtTheirNaturalAlignment) {
  Memory memory;
  struct {
    int i = -5;
    double d = 2.5;
    int j = 7;
    uint64_t s;
    int64_t l = -1'000'000'000'000;
  } packed;
  packed.s = memory.Text("text");
  const auto printed = FormatPrint(memory, memory.Text("%d %.2f %u %s %lld\n"), memory.Put(&packed, sizeof packed));
  EXPECT_EQ(printed.text, "-5 2.50 7 text -1000000000000\n");
  EXPECT_EQ(printed.arguments, 5);
}

TEST(PrintFormat, KnowsFlagsWidthsAndConversions) {
  Memory memory;
  const int values[] = {6, 42, 255, -1, 'A', 300};
  const auto printed = FormatPrint(memory, memory.Text("[%*d|%#x|%-6d|%c|%hhd]%%"), memory.Put(values, sizeof values));
  EXPECT_EQ(printed.text, "[    42|0xff|-1    |A|44]%");
  const double doubles[] = {1e10, 0.5, 1.0};
  EXPECT_EQ(FormatPrint(memory, memory.Text("%e %g %a"), memory.Put(doubles, sizeof doubles)).text,
            "1.000000e+10 0.5 0x1p+0");
}

TEST(PrintFormat, HostileFormatsAreBounded) {
  Memory memory;
  const int huge[] = {2147483647, 1, -2147483647 - 1, 2};
  const auto printed = FormatPrint(memory, memory.Text("%*d%*d%"), memory.Put(huge, sizeof huge));
  EXPECT_LE(printed.text.size(), 10'000u);
  EXPECT_EQ(FormatPrint(memory, 0, 0).arguments, -1);
  const uint64_t bad[] = {1, 0};
  EXPECT_EQ(FormatPrint(memory, memory.Text("<%s%s>%n"), memory.Put(bad, sizeof bad)).text, "<(null)>");
}

TEST(PrintFormat, AStringWithoutEndStopsAtTheEndOfMemory) {
  Memory memory;
  const uint64_t format = memory.Put("abc", 3);
  EXPECT_EQ(FormatPrint(memory, format, 0).text, "abc");
}

TEST(PrintFormat, WhatWantsMoreArgumentsThanThereMayBeStandsAsItIs) {
  Memory memory;
  std::string format, expected;
  for (uint32_t i = 0; i < kMostPrintArguments; ++i) format += "%d ", expected += "7 ";
  const std::vector<int32_t> values(kMostPrintArguments + 4, 7);
  const auto printed =
      FormatPrint(memory, memory.Text((format + "%d%%%-*d%s").c_str()), memory.Put(values.data(), 4 * values.size()));
  EXPECT_EQ(printed.text, expected + "%d%%-*d%s");
  EXPECT_EQ(printed.arguments, static_cast<int32_t>(kMostPrintArguments));
}

}  // namespace
}  // namespace tutti::guest
