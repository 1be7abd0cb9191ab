#include "image/decompress.h"

#include <gtest/gtest.h>
#include <lz4.h>
#include <zstd.h>

#include <string>

namespace tutti::image {
namespace {

constexpr uint64_t kLimit = 1 << 20;

std::vector<uint8_t> Zstd(const std::string& text) {
  std::vector<uint8_t> out(ZSTD_compressBound(text.size()));
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

std::vector<uint8_t> Lz4(const std::string& text) {
  std::vector<uint8_t> out(static_cast<size_t>(LZ4_compressBound(static_cast<int>(text.size()))));
  out.resize(static_cast<size_t>(LZ4_compress_default(text.data(), reinterpret_cast<char*>(out.data()),
                                                      static_cast<int>(text.size()), static_cast<int>(out.size()))));
  return out;
}

std::string Sample() {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "add.s32 %r" + std::to_string(i * 7919 % 1000) + ";\n";
  return text;
}

TEST(DecompressTest, BothFormatsGiveBackWhatWentIn) {
  const std::string text = Sample();
  const auto zstd = DecompressZstd(Zstd(text), text.size(), kLimit);
  const auto lz4 = DecompressLz4(Lz4(text), text.size(), kLimit);
  ASSERT_TRUE(zstd) << zstd.error().text;
  ASSERT_TRUE(lz4) << lz4.error().text;
  EXPECT_EQ(std::string(zstd->begin(), zstd->end()), text);
  EXPECT_EQ(std::string(lz4->begin(), lz4->end()), text);
}

TEST(DecompressTest, AWrongSizeIsRefused) {
  const std::string text = Sample();
  for (const size_t wrong : {text.size() - 1, text.size() + 1, size_t{0}}) {
    EXPECT_FALSE(DecompressZstd(Zstd(text), wrong, kLimit)) << wrong;
    EXPECT_FALSE(DecompressLz4(Lz4(text), wrong, kLimit)) << wrong;
  }
}

TEST(DecompressTest, MoreThanTheLimitIsRefused) {
  const std::string text = Sample();
  EXPECT_FALSE(DecompressZstd(Zstd(text), text.size(), text.size() - 1));
  EXPECT_FALSE(DecompressLz4(Lz4(text), text.size(), text.size() - 1));
}

TEST(DecompressTest, CutAndDamagedInputIsRefused) {
  const std::string text = Sample();
  auto zstd = Zstd(text);
  auto lz4 = Lz4(text);
  zstd.resize(zstd.size() / 2);
  lz4.resize(lz4.size() / 2);
  EXPECT_FALSE(DecompressZstd(zstd, text.size(), kLimit));
  EXPECT_FALSE(DecompressLz4(lz4, text.size(), kLimit));
  EXPECT_FALSE(DecompressZstd({}, text.size(), kLimit));
  EXPECT_FALSE(DecompressLz4({}, text.size(), kLimit));
  const std::vector<uint8_t> noise(64, 0xff);
  EXPECT_FALSE(DecompressZstd(noise, 1000, kLimit));
  EXPECT_FALSE(DecompressLz4(noise, 1000, kLimit));
}

}  // namespace
}  // namespace tutti::image
