#include "client/memory/allocation_table.h"

#include <gtest/gtest.h>

namespace tutti::client {
namespace {

bool Any(const Allocation&) { return true; }

TEST(AllocationTable, FindsByAnyAddressInside) {
  AllocationTable table;
  ASSERT_TRUE(table.Insert({.address = 0x1000, .bytes = 0x100}));
  EXPECT_TRUE(table.Find(0x1000));
  EXPECT_TRUE(table.Find(0x10ff));
  EXPECT_FALSE(table.Find(0x1100));
  EXPECT_FALSE(table.Find(0xfff));
}

TEST(AllocationTable, CoversOnlyWhatLiesInOne) {
  AllocationTable table;
  table.Insert({.address = 0x1000, .bytes = 0x100});
  table.Insert({.address = 0x1100, .bytes = 0x100});
  EXPECT_TRUE(table.Covers(0x1010, 0xf0));
  EXPECT_FALSE(table.Covers(0x1010, 0xf1));
  EXPECT_FALSE(table.Covers(0x1010, ~uint64_t{0}));
}

TEST(AllocationTable, RefusesOverlap) {
  AllocationTable table;
  table.Insert({.address = 0x1000, .bytes = 0x100});
  EXPECT_FALSE(table.Insert({.address = 0x10ff, .bytes = 1}));
  EXPECT_FALSE(table.Insert({.address = 0xff0, .bytes = 0x11}));
  EXPECT_TRUE(table.Insert({.address = 0xff0, .bytes = 0x10}));
}

TEST(AllocationTable, TakesOnceFromTheBeginningAndOnlyTheWanted) {
  AllocationTable table;
  table.Insert({.address = 0x1000, .bytes = 0x100, .kind = AllocationKind::kHost});
  EXPECT_FALSE(table.Take(0x1001, Any));
  EXPECT_FALSE(table.Take(0x1000, [](const Allocation& a) { return a.kind == AllocationKind::kDevice; }));
  EXPECT_TRUE(table.Take(0x1000, Any));
  EXPECT_FALSE(table.Take(0x1000, Any));
}

TEST(AllocationTable, NeverUsesAnIdTwice) {
  AllocationTable table;
  table.Insert({.address = 0x1000, .bytes = 8});
  const uint64_t first = table.Find(0x1000)->id;
  table.Take(0x1000, Any);
  table.Insert({.address = 0x1000, .bytes = 8});
  EXPECT_NE(table.Find(0x1000)->id, first);
}

}  // namespace
}  // namespace tutti::client
