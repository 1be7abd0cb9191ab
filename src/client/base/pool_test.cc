#include "client/base/pool.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

namespace tutti::client {
namespace {

struct Thing {
  explicit Thing(int n) : number(n) {}
  int number;
};

constinit Pool<Thing, 128> things;

TEST(Pool, FindsWhatItMadeAndNothingElse) {
  Thing* thing = things.Create(7);
  ASSERT_NE(thing, nullptr);
  EXPECT_EQ(things.Find(thing), thing);
  EXPECT_EQ(things.Find(static_cast<void*>(nullptr)), nullptr);
  EXPECT_EQ(things.Find(reinterpret_cast<char*>(thing) + 1), nullptr);
  EXPECT_EQ(things.Find(thing + 1), nullptr);
  int elsewhere;
  EXPECT_EQ(things.Find(&elsewhere), nullptr);
  EXPECT_EQ(things.Find(reinterpret_cast<void*>(~uintptr_t{0})), nullptr);
  EXPECT_TRUE(things.Retire(thing));
  things.Delete(thing);
}

TEST(Pool, OnlyOneOfSeveralRetires) {
  Thing* thing = things.Create(1);
  EXPECT_TRUE(things.Retire(thing));
  EXPECT_EQ(things.Find(thing), nullptr);
  EXPECT_FALSE(things.Retire(thing));
  things.Delete(thing);
}

TEST(Pool, ASlotRestsBeforeItIsUsedAgain) {
  Thing* first = things.Create(1);
  things.Retire(first);
  things.Delete(first);
  for (int i = 0; i < 10; ++i) {
    Thing* next = things.Create(i);
    EXPECT_NE(next, first);
    things.Retire(next);
    things.Delete(next);
  }
}

TEST(Pool, EndsAtItsSizeAndIsUsableAgainAfterwards) {
  static constinit Pool<Thing, 128> full;
  std::vector<Thing*> made;
  while (Thing* thing = full.Create(0)) made.push_back(thing);
  EXPECT_EQ(made.size(), 128u);
  EXPECT_EQ(std::set<Thing*>(made.begin(), made.end()).size(), 128u);
  full.Retire(made[5]);
  full.Delete(made[5]);
  EXPECT_EQ(full.Create(1), made[5]);
  EXPECT_EQ(full.Create(2), nullptr);
}

TEST(Pool, ThreadsNeverShareASlot) {
  static constinit Pool<Thing, 4096> shared;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 2000; ++i) {
        Thing* thing = shared.Create(t);
        ASSERT_NE(thing, nullptr);
        std::this_thread::yield();
        ASSERT_EQ(thing->number, t);
        ASSERT_TRUE(shared.Retire(thing));
        shared.Delete(thing);
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace tutti::client
