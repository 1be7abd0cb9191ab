#include "device/common/fair_part.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace tutti::device {
namespace {

double Part(double weight, const std::vector<TimeDemand>& others, double sms = 2) {
  return FairPart(weight, others, sms);
}

TEST(FairPart, IsAllForOneAlone) {
  EXPECT_EQ(Part(30, {}), 2);
  EXPECT_EQ(Part(30, {{.weight = 70, .sms = 0}}), 2);
}

TEST(FairPart, IsByWeight) {
  EXPECT_DOUBLE_EQ(Part(100, {{100, 2}}), 1);
  EXPECT_DOUBLE_EQ(Part(300, {{100, 2}}), 1.5);
  EXPECT_DOUBLE_EQ(Part(100, {{100, 2}, {200, 2}}), 0.5);
}

TEST(FairPart, IsMoreWhereOthersWantLess) {
  EXPECT_DOUBLE_EQ(Part(100, {{100, 0.5}}), 1.5);
  EXPECT_DOUBLE_EQ(Part(100, {{100, 0.2}, {100, 2}}), 0.9);
  EXPECT_DOUBLE_EQ(Part(70, {{30, 0.6}}), 1.4);
}

TEST(FairPart, IsHalfOfAnEqualPartWhateverOthersSay) {
  EXPECT_DOUBLE_EQ(Part(100, {{4e6, 4e6}}), 0.5);
  EXPECT_DOUBLE_EQ(Part(100, {{4e6, 4e6}, {100, 2}, {100, 2}}), 0.25);
  EXPECT_DOUBLE_EQ(Part(100, {{0, 4e6}}), 2) << "one without weight";
}

// Max-min fairness: nobody gets less than by weight, unless it wants less, and what is wanted is given out.
TEST(FairPart, OfAllTogetherIsAllThatIsWanted) {
  std::minstd_rand random(1);
  for (int round = 0; round < 5000; ++round) {
    const double sms = 1 + random() % 16;
    std::vector<TimeDemand> all(2 + random() % 5);
    double weights = 0, wanted = 0;
    for (TimeDemand& one : all) {
      one = {.weight = 20.0 + random() % 100, .sms = static_cast<double>(random() % 1000) / 1000 * sms};
      weights += one.weight;
      wanted += one.sms;
    }
    double given = 0;
    bool floored = false;  // somebody has half of an equal part, which is more than by weight
    for (size_t i = 0; i < all.size(); ++i) {
      std::vector<TimeDemand> others = all;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      const double part = FairPart(all[i].weight, others, sms);
      const double by_weight = sms * all[i].weight / weights;
      EXPECT_GE(part, by_weight - 1e-9);
      floored |= part > by_weight && part <= 0.5 * sms / static_cast<double>(all.size()) + 1e-9;
      given += std::min(part, all[i].sms);
    }
    if (!floored) EXPECT_NEAR(given, std::min(wanted, sms), 1e-6) << "round " << round;
  }
}

}  // namespace
}  // namespace tutti::device
