#include "image/image_list.h"

#include <gtest/gtest.h>

namespace tutti::image {
namespace {

TEST(ImageListTest, ImagesComeBackInOrder) {
  const std::vector<uint8_t> first{1, 2, 3};
  const std::vector<uint8_t> second{4, 5, 6, 7, 8, 9, 10, 11};
  const std::span<const uint8_t> images[] = {first, second, {}};
  const auto packed = PackImageList(images);
  const auto read = ReadImageList(packed);
  ASSERT_TRUE(read) << read.error().text;
  ASSERT_EQ(read->size(), 3u);
  EXPECT_EQ(std::vector<uint8_t>((*read)[0].begin(), (*read)[0].end()), first);
  EXPECT_EQ(std::vector<uint8_t>((*read)[1].begin(), (*read)[1].end()), second);
  EXPECT_TRUE((*read)[2].empty());
}

TEST(ImageListTest, EveryTruncationIsRefused) {
  const std::vector<uint8_t> image{1, 2, 3};
  const std::span<const uint8_t> images[] = {image, image};
  const auto packed = PackImageList(images);
  for (size_t size = 0; size < packed.size(); ++size)
    EXPECT_FALSE(ReadImageList(std::span(packed).first(size))) << size;
}

TEST(ImageListTest, AHugeCountIsRefusedWithoutMemoryForIt) {
  auto packed = PackImageList({});
  packed[4] = packed[5] = packed[6] = packed[7] = 0xff;
  EXPECT_FALSE(ReadImageList(packed));
}

}  // namespace
}  // namespace tutti::image
