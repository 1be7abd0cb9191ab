#include "device/common/window_allocator.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tutti::device {
namespace {

constexpr uint64_t kBase = 1ull << 40;
constexpr uint64_t kBytes = 1 << 20;

TEST(WindowAllocator, GivesAlignedDisjointRanges) {
  WindowAllocator allocator(kBase, kBytes, 256);
  const auto a = allocator.Take(1, 0);
  const auto b = allocator.Take(1, 4096);
  const auto c = allocator.Take(300, 256);
  ASSERT_TRUE(a && b && c);
  EXPECT_EQ(*a % 256, 0u);
  EXPECT_EQ(*b % 4096, 0u);
  EXPECT_GE(*c > *a ? *c - *a : *a - *c, 256u);
}

TEST(WindowAllocator, RefusesWhatDoesNotFit) {
  WindowAllocator allocator(kBase, kBytes, 256);
  EXPECT_FALSE(allocator.Take(kBytes + 1, 0));
  EXPECT_FALSE(allocator.Take(0, 0));
  EXPECT_FALSE(allocator.Take(~0ull, 0));
  EXPECT_TRUE(allocator.Take(kBytes, 0));
  EXPECT_FALSE(allocator.Take(1, 0));
}

TEST(WindowAllocator, TakesFromTheUpperEndIfItGrowsDown) {
  WindowAllocator allocator(kBase, kBytes, 256, WindowAllocator::Grows::kDown);
  EXPECT_EQ(allocator.Take(256, 0), kBase + kBytes - 256);
  EXPECT_EQ(allocator.Take(256, 4096), kBase + kBytes - 4096);
  EXPECT_EQ(allocator.Take(2 * kBytes, 0), std::nullopt);
  EXPECT_EQ(allocator.Take(kBytes / 2, kBytes / 2), kBase);
}

class AnyWay : public testing::TestWithParam<WindowAllocator::Grows> {};
INSTANTIATE_TEST_SUITE_P(Of, AnyWay, testing::Values(WindowAllocator::Grows::kUp, WindowAllocator::Grows::kDown));

TEST_P(AnyWay, EverythingGivenBackIsOneRangeAgain) {
  WindowAllocator allocator(kBase, kBytes, 256, GetParam());
  std::mt19937 random(7);
  std::vector<std::pair<uint64_t, uint64_t>> taken;
  for (int i = 0; i < 5000; ++i) {
    if (!taken.empty() && random() % 2 == 0) {
      std::swap(taken[random() % taken.size()], taken.back());
      allocator.Give(taken.back().first, taken.back().second);
      taken.pop_back();
    } else {
      const uint64_t bytes = 1 + random() % 5000;
      const uint64_t alignment = 256ull << random() % 6;
      if (const auto address = allocator.Take(bytes, alignment)) {
        EXPECT_EQ(*address % alignment, 0u);
        for (const auto& [begin, size] : taken) EXPECT_TRUE(*address >= begin + size || begin >= *address + bytes);
        taken.emplace_back(*address, bytes);
      }
    }
  }
  for (const auto& [address, bytes] : taken) allocator.Give(address, bytes);
  EXPECT_EQ(allocator.Take(kBytes, 0), kBase);
}

}  // namespace
}  // namespace tutti::device
