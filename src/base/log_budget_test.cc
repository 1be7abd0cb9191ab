#include "daemon/log_budget.h"

#include <gtest/gtest.h>

#include <vector>

namespace tutti::daemon {
namespace {

class LogBudgetTest : public testing::Test {
 protected:
  uint64_t now_ns_ = 1;
  std::vector<std::string> lines_;
  size_t bytes_ = 0;
  LogBudget budget_{[this](std::string_view line) {
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

TEST_F(LogBudgetTest, WhatIsLeftOutIsCounted) {
  const std::string line(LogBudget::kBurstBytes / 2, 'x');
  for (int i = 0; i < 5; ++i) budget_.Info("user 7", "{}", line);
  ASSERT_EQ(lines_.size(), 1u);
  now_ns_ += 3600'000'000'000;
  budget_.Info("user 7", "again");
  ASSERT_EQ(lines_.size(), 3u);
  EXPECT_EQ(lines_[1], "4 lines about user 7 are left out: they came too fast");
  EXPECT_EQ(lines_[2], "again");
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
  LogBudget budget([&](std::string_view line) { bytes += line.size(); }, [] { return uint64_t{1}; });
  for (int party = 0; party < kParties; ++party) {
    for (int line = 0; line < 20; ++line) budget.Info("container " + std::to_string(party), "{}", std::string(kLineBytes, 'x'));
  }
  EXPECT_LT(bytes, 70 * LogBudget::kBurstBytes);
}

}  // namespace
}  // namespace tutti::daemon
