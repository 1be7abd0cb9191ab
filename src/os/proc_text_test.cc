#include "os/proc_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

namespace tutti::os {
namespace {

TEST(ProcText, AFileIsReadWholeOrToItsBound) {
  const std::string path = testing::TempDir() + "proc_text";
  const std::string text(10'000, 'x');
  std::ofstream(path) << text;
  EXPECT_EQ(TextOf(path), text);
  EXPECT_EQ(TextOf(path, 5'000), text.substr(0, 5'000));
  std::remove(path.c_str());
  EXPECT_EQ(TextOf(path), "");
}

TEST(ProcText, WhatIsCutTakesItsEndWithIt) {
  std::string_view text = "one,,two";
  EXPECT_EQ(Cut(text, ','), "one");
  EXPECT_EQ(Cut(text, ','), "");
  EXPECT_EQ(Cut(text, ','), "two");
  EXPECT_EQ(Cut(text, ','), "");
}

TEST(ProcText, APathOfACgroupMayHaveColons) {
  const auto lines = CgroupLines("12:cpu,memory:/a:b\ngarbage\n0::/\n");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].path, "/a:b");
  EXPECT_TRUE(lines[0].Names("memory"));
  EXPECT_FALSE(lines[0].Names("mem"));
  EXPECT_EQ(lines[1].controllers, "");
}

}  // namespace
}  // namespace tutti::os
