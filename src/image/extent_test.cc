#include "image/extent.h"

#include <gtest/gtest.h>

#include <cstring>

#include "image/testing_fatbin.h"

namespace tutti::image {
namespace {

struct Wrapper {
  uint32_t magic = 0x466243b1;
  uint32_t version = 1;
  const void* data = nullptr;
  const void* extra = nullptr;
};

std::vector<uint8_t> SomeFatbin() { return FatbinBuilder().Add(EntryKind::kPtx, 75, ".version 9.0").Build(); }

TEST(ExtentTest, TextEndsBeforeItsNul) {
  const char text[] = "\n// made by hand\n.version 9.0\n";
  const auto images = FindImages(text);
  ASSERT_TRUE(images) << images.error().text;
  ASSERT_EQ(images->size(), 1u);
  EXPECT_EQ(images->front().size(), sizeof text - 1);
}

TEST(ExtentTest, ARawFatbinSpansWhatItsHeaderSays) {
  auto bytes = SomeFatbin();
  const size_t size = bytes.size();
  bytes.resize(size + 100, 0xee);
  const auto images = FindImages(bytes.data());
  ASSERT_TRUE(images);
  EXPECT_EQ(images->front().size(), size);
}

TEST(ExtentTest, AWrapperLeadsToItsFatbin) {
  const auto fatbin = SomeFatbin();
  const char name[] = "file.cu";
  const Wrapper wrapper{.data = fatbin.data(), .extra = name};
  const auto images = FindImages(&wrapper);
  ASSERT_TRUE(images) << images.error().text;
  ASSERT_EQ(images->size(), 1u);
  EXPECT_EQ(images->front().data(), fatbin.data());
  EXPECT_EQ(images->front().size(), fatbin.size());
}

TEST(ExtentTest, AWrapperOfSeparateCompilationLeadsToAllItsUnits) {
  const auto linked = FatbinBuilder().Build();
  const auto first = SomeFatbin();
  const auto second = SomeFatbin();
  const void* units[] = {first.data(), second.data(), nullptr};
  const Wrapper wrapper{.version = 2, .data = linked.data(), .extra = units};
  const auto images = FindImages(&wrapper);
  ASSERT_TRUE(images) << images.error().text;
  ASSERT_EQ(images->size(), 2u);
  EXPECT_EQ((*images)[1].data(), second.data());
}

TEST(ExtentTest, WhatIsNoImageIsRefused) {
  EXPECT_FALSE(FindImages(nullptr));
  EXPECT_FALSE(FindImages(""));
  EXPECT_FALSE(FindImages("hello"));
  const Wrapper nothing{};
  EXPECT_FALSE(FindImages(&nothing));
  const uint64_t no_fatbin[2] = {};
  const Wrapper wrong{.data = no_fatbin};
  EXPECT_FALSE(FindImages(&wrong));
  const Wrapper future{.version = 3, .data = no_fatbin};
  EXPECT_FALSE(FindImages(&future));
}

}  // namespace
}  // namespace tutti::image
