#include "client/module/compile_wait.h"

#include <gtest/gtest.h>

namespace tutti::client {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;

TEST(CompileWaits, WaitsThatAddUpToTwoSecondsAreExplainedOnce) {
  CompileWaits waits;
  EXPECT_FALSE(waits.Line("first", kSecondNs));
  waits.Ended(kSecondNs, 1);
  EXPECT_FALSE(waits.Line("second", kSecondNs / 2));
  const auto line = waits.Line("second", kSecondNs);
  ASSERT_TRUE(line);
  EXPECT_EQ(
      *line,
      "compiling for the CPU: 1 kernels in 2 s, and now second. Later runs find them in the code cache (TUTTI_QUIET=1 "
      "suppresses this line)");
  waits.Ended(kSecondNs, 1);
  EXPECT_FALSE(waits.Line("third", 10 * kSecondNs));
}

}  // namespace
}  // namespace tutti::client
