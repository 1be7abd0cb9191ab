#include "device/common/fair_part.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace tutti::device {
namespace {

// The first SMs of a device.
SmSet First(size_t sms) { return ~(SmSet().set() << sms); }

// Of a device of `sms` SMs, which all may use, each other in a server of its own.
double Part(double weight, std::vector<TimeDemand> others, size_t sms = 2) {
  for (size_t i = 0; i < others.size(); ++i) {
    others[i].region = First(sms);
    others[i].server = static_cast<uint32_t>(i) + 1;
  }
  return FairPart({.weight = weight, .region = First(sms)}, others);
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
  const TimeDemand lie{.weight = 4e6, .sms = 4e6, .region = First(2), .server = 1};
  EXPECT_DOUBLE_EQ(FairPart({.weight = 100, .region = First(2)}, std::vector(32, lie)), 0.5)
      << "one server counts once, however much it says";
}

TEST(FairPart, IsWhatThoseWhoGoFirstLeave) {
  const TimeDemand first{.weight = 100, .sms = 1.5, .band = 0, .region = First(2), .server = 1};
  const TimeDemand equal{.weight = 100, .sms = 2, .band = 1, .region = First(2), .server = 2};
  const TimeDemand below{.weight = 100, .band = 1, .region = First(2)};
  EXPECT_DOUBLE_EQ(FairPart(below, std::vector{first}), 0.5);
  EXPECT_DOUBLE_EQ(FairPart(below, std::vector{first, equal}), 0.25);
  EXPECT_DOUBLE_EQ(FairPart({.weight = 100, .band = 0, .region = First(2)}, std::vector{equal}), 2);
}

TEST(FairPart, IsOfItsOwnSms) {
  const TimeDemand partition{.weight = 100, .sms = 1, .region = SmSet(1), .server = 1};
  const TimeDemand rest{.weight = 100, .sms = 3, .region = SmSet(0b1110), .server = 2};
  EXPECT_DOUBLE_EQ(FairPart({.weight = 100, .region = SmSet(1)}, std::vector{rest}), 1) << "nobody else may use it";
  EXPECT_DOUBLE_EQ(FairPart({.weight = 100, .region = SmSet(0b1110)}, std::vector{partition, rest}), 1.5);
  const TimeDemand all{.weight = 100, .sms = 4, .region = SmSet(0b1111), .server = 3};
  EXPECT_NEAR(FairPart({.weight = 100, .region = SmSet(1)}, std::vector{all}), 0.8, 1e-9)
      << "a fourth of what one wants that may use all";
  const TimeDemand none{.weight = 100, .sms = 1, .server = 4};
  EXPECT_EQ(FairPart({.weight = 100, .region = SmSet(1)}, std::vector{none}), 1) << "one that may use none";
}

// Max-min fairness: nobody gets less than by weight, unless it wants less, and what is wanted is given out.
TEST(FairPart, OfAllTogetherIsAllThatIsWanted) {
  std::minstd_rand random(1);
  for (int round = 0; round < 5000; ++round) {
    const size_t sms = 1 + random() % 16;
    std::vector<TimeDemand> all(2 + random() % 5);
    double weights = 0, wanted = 0;
    for (TimeDemand& one : all) {
      one = {.weight = 20.0 + random() % 100,
             .sms = static_cast<double>(random() % 1000) / 1000 * static_cast<double>(sms)};
      weights += one.weight;
      wanted += one.sms;
    }
    double given = 0;
    bool floored = false;  // somebody has half of an equal part, which is more than by weight
    for (size_t i = 0; i < all.size(); ++i) {
      std::vector<TimeDemand> others = all;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      const double part = Part(all[i].weight, others, sms);
      const double by_weight = static_cast<double>(sms) * all[i].weight / weights;
      EXPECT_GE(part, by_weight - 1e-9);
      floored |= part > by_weight && part <= 0.5 * static_cast<double>(sms) / static_cast<double>(all.size()) + 1e-9;
      given += std::min(part, all[i].sms);
    }
    if (floored) continue;
    EXPECT_NEAR(given, std::min(wanted, static_cast<double>(sms)), 1e-6) << "round " << round;
  }
}

}  // namespace
}  // namespace tutti::device
