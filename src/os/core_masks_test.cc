#include "os/core_masks.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

namespace tutti::os {
namespace {

cpu_set_t Cores(std::initializer_list<size_t> cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const size_t core : cores) CPU_SET(core, &set);
  return set;
}

// One thread, as Linux sees it.
struct SimulatedMasks {
  cpu_set_t given;  // by sched_setaffinity; all until then
  cpu_set_t let;    // in its cpuset, and online
  std::vector<cpu_set_t> used;  // after each change

  explicit SimulatedMasks(const cpu_set_t& let) : let(let) { memset(&given, 0xff, sizeof given); }

  cpu_set_t May() const {
    cpu_set_t may;
    CPU_AND(&may, &given, &let);
    return may;
  }
  bool Get(pid_t, cpu_set_t* cores) const {
    *cores = May();
    return true;
  }
  bool Set(pid_t, const cpu_set_t& cores) {
    cpu_set_t may;
    CPU_AND(&may, &cores, &let);
    if (CPU_COUNT(&may) == 0) return false;
    given = cores;
    used.push_back(may);
    return true;
  }
};

bool operator==(const cpu_set_t& a, const cpu_set_t& b) { return CPU_EQUAL(&a, &b); }

TEST(CoreMasks, AThreadInACpusetHasAllOfItWhenThatGrowsLater) {
  SimulatedMasks masks(Cores({0, 1}));
  const int taken[] = {0};
  ASSERT_TRUE(MoveThread(masks, 0, taken));
  EXPECT_TRUE(masks.used.front() == Cores({1})) << "it is moved";
  EXPECT_TRUE(masks.May() == Cores({0, 1}));
  masks.let = Cores({0, 1, 2, 3});
  EXPECT_TRUE(masks.May() == masks.let);
  masks.let = Cores({2});  // cores go, too
  ASSERT_TRUE(MoveThread(masks, 0, {}));
  masks.let = Cores({0, 1, 2, 3});
  EXPECT_TRUE(masks.May() == masks.let);
}

TEST(CoreMasks, AThreadThatSomebodyHasRestrictedStaysSoHoweverManyCoresThereAre) {
  SimulatedMasks masks(Cores({0, 1}));
  ASSERT_TRUE(MoveThread(masks, 0, {}));
  masks.let = Cores({0, 1, 2, 3, 4, 5, 6, 7});
  masks.given = Cores({0, 1, 2, 3, 4});
  const int taken[] = {0, 1, 2};
  ASSERT_TRUE(MoveThread(masks, 0, taken));
  EXPECT_TRUE(masks.used[masks.used.size() - 3] == Cores({3, 4}));
  EXPECT_TRUE(masks.May() == Cores({0, 1, 2, 3, 4}));
}

TEST(CoreMasks, AThreadIsNotMovedWhereAllThatItMayUseIsTaken) {
  SimulatedMasks masks(Cores({0, 1}));
  const int taken[] = {0, 1};
  EXPECT_FALSE(MoveThread(masks, 0, taken));
  EXPECT_TRUE(masks.used.empty());
}

// Its cores are taken away while it is narrowed to one of them.
TEST(CoreMasks, AThreadWhoseCoresAreGoneMayUseOthers) {
  struct Changing : SimulatedMasks {
    using SimulatedMasks::SimulatedMasks;
    bool Set(pid_t thread, const cpu_set_t& cores) {
      const bool set = SimulatedMasks::Set(thread, cores);
      let = Cores({2, 3});
      return set;
    }
  } masks(Cores({0, 1, 2, 3}));
  masks.given = Cores({0, 1});
  ASSERT_TRUE(MoveThread(masks, 0, {}));
  EXPECT_TRUE(masks.May() == Cores({2, 3}));
}

}  // namespace
}  // namespace tutti::os
