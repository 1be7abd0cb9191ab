#include "guest/exec/guest_buffer.h"

#include <gtest/gtest.h>

namespace tutti::guest {
namespace {

TEST(GuestBuffer, OneThatCouldNotGrowIsAsItWas) {
  GuestBuffer buffer;
  ASSERT_TRUE(buffer.Require(100));
  buffer.data()[99] = 7;
  EXPECT_FALSE(buffer.Require(1ull << 62));
  EXPECT_EQ(buffer.data()[99], 7);
  buffer.Clean();
  EXPECT_EQ(buffer.data()[99], 0);
}

}  // namespace
}  // namespace tutti::guest
