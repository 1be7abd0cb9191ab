#include "sharing/quantity.h"

#include <gtest/gtest.h>

namespace tutti::sharing {
namespace {

TEST(Quantity, SuffixesAreKubernetes) {
  EXPECT_EQ(ParseBytes("2Gi").value(), 2ull << 30);
  EXPECT_EQ(ParseBytes("1G").value(), 1'000'000'000u);
  EXPECT_DOUBLE_EQ(ParseQuantity("1500m").value(), 1.5);
  EXPECT_DOUBLE_EQ(ParseQuantity("0.5").value(), 0.5);
}

TEST(Quantity, AnythingElseIsRefused) {
  for (const char* text : {"", "Gi", "2GB", "-1", "1e400", "nan", "2 Gi", "0x10"})
    EXPECT_FALSE(ParseQuantity(text)) << text;
  EXPECT_FALSE(ParseBytes("9Ei").has_value() && ParseBytes("9Ei").value() == 0);
  EXPECT_FALSE(ParseBytes("100Ei"));
}

}  // namespace
}  // namespace tutti::sharing
