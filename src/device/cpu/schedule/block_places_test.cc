#include "device/cpu/schedule/block_places.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace tutti::device::cpu {
namespace {

uint64_t Take(BlockPlaces& places, uint32_t place, uint64_t count) {
  EXPECT_GE(places.Offer(place), count);
  return places.Take(count);
}

TEST(BlockPlaces, AreEvenPartsOfTheGridWhichAreTakenUpwards) {
  BlockPlaces places;
  places.Divide(11, 3);
  EXPECT_EQ(places.left(), 11u);
  EXPECT_EQ(places.Offer(0), 4u);
  EXPECT_EQ(places.Offer(1), 4u);
  EXPECT_EQ(places.Offer(2), 3u);
  EXPECT_EQ(Take(places, 2, 2), 8u);
  EXPECT_EQ(Take(places, 0, 1), 0u);
  EXPECT_EQ(Take(places, 0, 2), 1u);
  EXPECT_EQ(Take(places, 2, 1), 10u);
  EXPECT_EQ(places.left(), 5u);
}

TEST(BlockPlaces, WhoHasNoneHelpsAtTheEndOfTheFullest) {
  BlockPlaces places;
  places.Divide(30, 3);
  EXPECT_EQ(Take(places, 0, 10), 0u);
  EXPECT_EQ(Take(places, 1, 3), 10u);
  EXPECT_EQ(places.Offer(0), 10u);
  EXPECT_EQ(Take(places, 0, 4), 26u);
  EXPECT_EQ(Take(places, 0, 1), 19u) << "the other one is fuller now";
  EXPECT_EQ(Take(places, 1, 6), 13u);
  EXPECT_EQ(Take(places, 1, 6), 20u) << "all that is left, though it is another's";
  EXPECT_EQ(places.left(), 0u);
  EXPECT_EQ(places.Offer(0), 0u);
}

TEST(BlockPlaces, FewerBlocksThanPlacesAreForAnybody) {
  BlockPlaces places;
  places.Divide(2, 16);
  EXPECT_EQ(places.Offer(15), 1u);
  EXPECT_EQ(Take(places, 15, 1), 0u);
  EXPECT_EQ(Take(places, 15, 1), 1u);
  EXPECT_EQ(places.Offer(0), 0u);
}

TEST(BlockPlaces, AreOfGridsOfBillionsOfBlocksToo) {
  BlockPlaces places;
  places.Divide(BlockPlaces::kMostBlocks, 2);
  EXPECT_EQ(Take(places, 0, 1u << 31), 0u);
  EXPECT_EQ(Take(places, 1, (1u << 31) - 2), 1u << 31);
  EXPECT_EQ(places.left(), 1u);
  EXPECT_EQ(Take(places, 0, 1), BlockPlaces::kMostBlocks - 1);
}

TEST(BlockPlaces, EachBlockIsGivenOutOnceWhoeverComesWhen) {
  std::mt19937 random(1);
  BlockPlaces places;
  for (int grid = 0; grid < 200; ++grid) {
    const auto total = static_cast<uint64_t>(random() % 500 + 1);
    const uint32_t count = random() % BlockPlaces::kMost + 1;
    std::vector<uint32_t> times(total);
    const auto take = [&](uint64_t first, uint64_t end) {
      for (uint64_t i = first; i < end; ++i) ++times.at(i);
    };
    places.Divide(total, count);
    const uint64_t left_over = random() % 3 == 0 ? random() % total : 0;
    while (places.left() > left_over) {
      const uint32_t place = random() % count;
      const uint64_t available = places.Offer(place), wanted = random() % available + 1;
      const uint64_t first = Take(places, place, wanted);
      take(first, first + wanted);
    }
    uint64_t left = 0;
    places.ForEach([&](BlockPlaces::Blocks blocks) {
      take(blocks.first, blocks.second);
      left += blocks.second - blocks.first;
    });
    EXPECT_EQ(places.left(), left);
    places.Clear();
    EXPECT_EQ(places.left(), 0u);
    EXPECT_EQ(std::ranges::count(times, 1u), static_cast<std::ptrdiff_t>(total));
  }
}

}  // namespace
}  // namespace tutti::device::cpu
