#include "wire/arrays.h"

#include <gtest/gtest.h>

namespace tutti::wire {
namespace {

constexpr ArrayShape Shape(uint64_t width, uint64_t height, uint64_t depth, uint32_t levels = 1, uint32_t flags = 0) {
  return {.width = width, .height = height, .depth = depth, .flags = flags, .levels = levels, .mipmapped = levels > 1};
}

TEST(ArrayLayout, LevelsHalveWhatIsNoLayer) {
  const auto volume = ArrayLayout::Of(Shape(12, 5, 3, 4), 8);
  ASSERT_TRUE(volume);
  const ArrayLevel second = volume->Level(1), last = volume->Level(3);
  EXPECT_EQ(second.row_bytes, 48u);
  EXPECT_EQ(second.rows, 2u);
  EXPECT_EQ(second.planes, 1u);
  EXPECT_EQ(last.row_bytes, 8u);
  EXPECT_EQ(last.rows * last.planes, 1u);
  EXPECT_GE(second.begin, volume->Level(0).bytes());
  EXPECT_EQ(volume->bytes(), last.begin + last.bytes());
  const auto layers = ArrayLayout::Of(Shape(12, 0, 3, 2, kLayeredArray), 4);
  ASSERT_TRUE(layers);
  EXPECT_EQ(layers->Level(1).planes, 3u);
  EXPECT_EQ(layers->Level(1).rows, 1u);
}

TEST(ArrayLayout, LevelsAreFoundByWhereTheyBegin) {
  const auto layout = ArrayLayout::Of(Shape(12, 5, 3, 4), 8);
  ASSERT_TRUE(layout);
  for (uint32_t level = 0; level < 4; ++level) EXPECT_EQ(layout->LevelAt(layout->Level(level).begin), level);
  EXPECT_FALSE(layout->LevelAt(8));
  EXPECT_FALSE(layout->LevelAt(layout->Level(1).begin + 8));
  EXPECT_FALSE(layout->LevelAt(layout->bytes()));
}

TEST(ArrayLayout, ThereIsNoneOfNothingAndOfMoreThanThereIs) {
  EXPECT_FALSE(ArrayLayout::Of(Shape(0, 1, 1), 4));
  EXPECT_FALSE(ArrayLayout::Of(Shape(1, 1, 1), 0));
  EXPECT_FALSE(ArrayLayout::Of(Shape(1, 1, 1, 0), 4));
  EXPECT_FALSE(ArrayLayout::Of(Shape(1, 1, 1, kMostArrayLevels + 1), 4));
  EXPECT_FALSE(ArrayLayout::Of(Shape(1ull << 40, 1, 1), 4));
  EXPECT_FALSE(ArrayLayout::Of(Shape(1u << 31, 1u << 31, 1u << 31), 16));
  EXPECT_FALSE(ArrayLayout::Of(Shape(1u << 31, 1u << 31, 2), 16));
}

TEST(ArrayLayout, ThereIsNoneOfMemoryThatIsMappedLater) {
  constexpr uint32_t kSparse = 0x40, kDeferredMapping = 0x80, kTextureGather = 8;
  EXPECT_FALSE(ArrayLayout::Of(Shape(64, 64, 0, 1, kSparse), 4));
  EXPECT_FALSE(ArrayLayout::Of(Shape(64, 64, 0, 1, kDeferredMapping | kTextureGather), 4));
  EXPECT_TRUE(ArrayLayout::Of(Shape(64, 64, 0, 1, kTextureGather), 4));
}

// 3 x 4 x 2 texels of 4 bytes, and a level of 1 x 2 x 1.
class ArrayBoxes : public testing::Test {
 protected:
  std::optional<ArrayLayout::Box> Find(uint64_t offset, uint64_t row_bytes, uint64_t rows = 1, uint64_t planes = 1,
                                       uint64_t pitch = 12, uint64_t plane = 48) const {
    return layout_.Find(
        {.offset = offset, .row_bytes = row_bytes, .rows = rows, .planes = planes, .pitch = pitch, .plane = plane});
  }
  const ArrayLayout layout_ = *ArrayLayout::Of(Shape(3, 4, 2, 2), 4);
};

TEST_F(ArrayBoxes, AreWhereAddressesSay) {
  const auto box = Find(48 + 2 * 12 + 4, 8, 2);
  ASSERT_TRUE(box);
  EXPECT_EQ(box->level, 0u);
  EXPECT_EQ(box->x_bytes, 4u);
  EXPECT_EQ(box->y, 2u);
  EXPECT_EQ(box->z, 1u);
  const auto next = Find(layout_.Level(1).begin + 4, 4, 1, 1, 99, 99);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->level, 1u);
  EXPECT_EQ(next->y, 1u);
  EXPECT_TRUE(Find(0, 12, 4, 2));
}

TEST_F(ArrayBoxes, LeaveNoRowPlaneOrLevel) {
  EXPECT_FALSE(Find(4, 12)) << "beyond the row";
  EXPECT_FALSE(Find(24, 12, 3)) << "beyond the plane";
  EXPECT_FALSE(Find(48, 12, 4, 2)) << "beyond the last plane";
  EXPECT_FALSE(Find(96, 4)) << "between the levels";
  EXPECT_FALSE(Find(layout_.bytes(), 4)) << "behind the array";
  EXPECT_FALSE(Find(~0ull, 4));
  EXPECT_FALSE(Find(0, ~0ull));
  EXPECT_FALSE(Find(0, 4, ~0ull));
  EXPECT_FALSE(Find(0, 4, 1, ~0ull));
}

TEST_F(ArrayBoxes, AreOfWholeTexelsInRowsOfTheArray) {
  EXPECT_FALSE(Find(2, 4));
  EXPECT_FALSE(Find(0, 6));
  EXPECT_FALSE(Find(0, 4, 2, 1, 16));
  EXPECT_FALSE(Find(0, 4, 2, 2, 12, 24));
}

}  // namespace
}  // namespace tutti::wire
