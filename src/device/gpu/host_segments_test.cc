// Memory that is taken and given back at random lies within one segment each, whatever its size.
#include "device/gpu/host_segments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "base/checked.h"

namespace tutti::device::gpu {
namespace {

constexpr uint64_t kMebi = 1 << 20, kPartBase = 1ull << 33, kPartBytes = 4096 * kMebi, kRound = 256;

TEST(HostSegments, NoAllocationLiesInTwo) {
  HostSegments segments(kPartBase, kPartBytes, kRound);
  std::vector<HostSegments::Range> shown;
  std::map<uint64_t, uint64_t> taken;  // bytes by address
  std::mt19937 random(7);
  uint64_t refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    if (taken.size() > 40 || (!taken.empty() && random() % 3 == 0)) {
      const auto one = std::next(taken.begin(), random() % taken.size());
      segments.Give(one->first, one->second);
      taken.erase(one);
      continue;
    }
    const uint64_t bytes = 1 + random() % (1ull << (8 + random() % 20));
    const uint64_t alignment = random() % 2 == 0 ? 0 : 1ull << random() % 25;
    auto address = segments.Take(bytes, alignment);
    if (!address) {
      const auto next = segments.Next(bytes, alignment);
      if (!next) {
        ++refused;
        continue;
      }
      EXPECT_EQ(next->address + next->bytes, shown.empty() ? kPartBase + kPartBytes : shown.back().address);
      EXPECT_GE(next->address, kPartBase);
      segments.Add(*next);
      shown.push_back(*next);
      address = segments.Take(bytes, alignment);
      ASSERT_TRUE(address) << bytes << " bytes, aligned to " << alignment;
    }
    EXPECT_EQ(*address % std::max<uint64_t>(alignment, 1), 0u);
    const auto holds = [&](const HostSegments::Range& range) {
      return *address >= range.address && InRange<uint64_t>(*address - range.address, bytes, range.bytes);
    };
    EXPECT_TRUE(std::ranges::any_of(shown, holds)) << bytes << " bytes at " << *address;
    const auto behind = taken.lower_bound(*address);
    EXPECT_TRUE(behind == taken.end() || *address + bytes <= behind->first);
    EXPECT_TRUE(behind == taken.begin() || std::prev(behind)->first + std::prev(behind)->second <= *address);
    taken[*address] = bytes;
  }
  EXPECT_EQ(refused, 0u);
  EXPECT_EQ(segments.all().address, shown.back().address);
}

TEST(HostSegments, ASegmentMayHoldOneAllocationAlone) {
  HostSegments segments(kPartBase, kPartBytes, kRound);
  const auto ahead = segments.Next(3 * kMebi, 4096);
  const auto least = segments.Next(3 * kMebi, 4096, HostSegments::Size::kLeast);
  ASSERT_TRUE(ahead && least);
  EXPECT_GE(ahead->bytes, 32 * kMebi);
  EXPECT_LE(least->bytes, 4 * kMebi);
  EXPECT_EQ(least->address % (2 * kMebi), 0u) << "a fence's map knows whole slabs";
  segments.Add(*least);
  EXPECT_TRUE(segments.Take(3 * kMebi, 4096));
}

TEST(HostSegments, WhatDoesNotFitIsRefused) {
  HostSegments segments(kPartBase, 64 * kMebi, kRound);
  EXPECT_FALSE(segments.Next(65 * kMebi, 0));
  EXPECT_FALSE(segments.Next(~0ull, 0));
  const auto next = segments.Next(40 * kMebi, 0);
  ASSERT_TRUE(next);
  segments.Add(*next);
  EXPECT_TRUE(segments.Take(40 * kMebi, 0));
  EXPECT_FALSE(segments.Take(40 * kMebi, 0));
  EXPECT_FALSE(segments.Next(40 * kMebi, 0));
}

}  // namespace
}  // namespace tutti::device::gpu
