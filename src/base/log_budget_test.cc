#include "base/log_budget.h"

#include <gtest/gtest.h>

#include <vector>

namespace tutti {
namespace {

class LogBudgetTest : public testing::Test {
 protected:
  uint64_t now_ns_ = 1;
  std::vector<std::string> lines_;
  size_t bytes_ = 0;
  LogBudget budget_{[this](log::Level, std::string_view line) {
                      lines_.emplace_back(line);
                      bytes_ += line.size();
                    },
                    [this] { return now_ns_; }};
};

TEST_F(LogBudgetTest, AFloodOfLinesFillsNoDisk) {
  const std::string line(2000, 'x');
  for (int second = 0; second < 10; ++second) {
    for (int i = 0; i < 10'000; ++i) budget_.Info("user 7", "{}", line);
    now_ns_ += 1'000'000'000;
  }
  EXPECT_GE(bytes_, LogBudget::kBurstBytes * 9 / 10);
  EXPECT_LE(bytes_, LogBudget::kBurstBytes + 10 * LogBudget::kBytesPerSecond);
}

TEST_F(LogBudgetTest, WhatIsLeftOutIsSaidAtOnceAndCountedLater) {
  const std::string line(LogBudget::kBurstBytes / 2, 'x');
  for (int i = 0; i < 5; ++i) budget_.Info("user 7", "{}", line);
  ASSERT_EQ(lines_.size(), 2u);
  EXPECT_EQ(lines_[1], "Lines about user 7 come too fast: from here on some are left out");
  now_ns_ += 3600'000'000'000;
  budget_.Info("user 7", "again");
  ASSERT_EQ(lines_.size(), 4u);
  EXPECT_EQ(lines_[2], "4 lines about user 7 are left out: they came too fast");
  EXPECT_EQ(lines_[3], "again");
}

TEST_F(LogBudgetTest, WhatIsLeftOutIsSaidOfWhoNeverLogsAgain) {
  const std::string line(LogBudget::kBurstBytes / 2, 'x');
  for (int i = 0; i < 5; ++i) budget_.Info("user 7", "{}", line);
  now_ns_ += 2'000'000'000;
  budget_.Info("user 8", "another");
  ASSERT_EQ(lines_.size(), 4u);
  EXPECT_EQ(lines_[2], "4 lines about user 7 are left out: they came too fast");
  {
    LogBudget ending([this](log::Level, std::string_view text) { lines_.emplace_back(text); });
    for (int i = 0; i < 5; ++i) ending.Info("user 9", "{}", line);
  }
  EXPECT_EQ(lines_.back(), "4 lines about user 9 are left out: they came too fast");
}

// Whoever logs long lines and short ones in turn pays for what is said of those that are left out, too.
TEST_F(LogBudgetTest, WhatIsSaidOfLinesThatAreLeftOutIsBounded) {
  constexpr size_t kLeft = 64 << 10;
  budget_.Info("user 7", "{}", std::string(LogBudget::kBurstBytes - kLeft, 'x'));
  const std::string too_long(2 * kLeft, 'x');
  for (int i = 0; i < 2000; ++i) {
    budget_.Info("user 7", "{}", too_long);
    budget_.Info("user 7", "short");
  }
  EXPECT_LE(bytes_, LogBudget::kBurstBytes);
}

TEST_F(LogBudgetTest, OnePartysFloodCostsTheOthersNothing) {
  for (int i = 0; i < 100'000; ++i) budget_.Info("user 7", "{}", "a line of some length or other");
  budget_.Info("user 8", "seen");
  EXPECT_EQ(lines_.back(), "seen");
}

// A user's containers are as many as that user likes.
TEST(LogBudget, PartiesWithoutEndFillOnlySoMuch) {
  constexpr int kParties = 10'000;
  constexpr size_t kLineBytes = 10'000;
  uint64_t bytes = 0;
  LogBudget budget([&](log::Level, std::string_view line) { bytes += line.size(); }, [] { return uint64_t{1}; });
  for (int party = 0; party < kParties; ++party) {
    for (int line = 0; line < 20; ++line)
      budget.Info("container " + std::to_string(party), "{}", std::string(kLineBytes, 'x'));
  }
  EXPECT_LT(bytes, 70 * LogBudget::kBurstBytes);
}

}  // namespace
}  // namespace tutti
