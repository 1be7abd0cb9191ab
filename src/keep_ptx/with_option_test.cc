#include "keep_ptx/with_option.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tutti::keep_ptx {
namespace {

using testing::ElementsAre;

std::vector<std::string> With(const std::vector<const char*>& options) {
  const WithOption longer(options.data(), options.size());
  return {longer.options(), longer.options() + longer.count()};
}

TEST(WithOptionTest, MachineCodeGetsLineInformation) {
  EXPECT_THAT(With({"-arch=sm_80", "-O3"}), ElementsAre("-arch=sm_80", "-O3", "-lineinfo"));
  EXPECT_THAT(With({"--gpu-architecture", "sm_90a"}), ElementsAre("--gpu-architecture", "sm_90a", "-lineinfo"));
}

TEST(WithOptionTest, PtxStaysAsItIs) {
  EXPECT_THAT(With({"-arch=compute_80"}), ElementsAre("-arch=compute_80"));
  EXPECT_THAT(With({}), ElementsAre());
}

TEST(WithOptionTest, WhatCarriesPtxAlreadyStaysAsItIs) {
  for (const char* const already : {"-lineinfo", "--generate-line-info", "-G", "-g", "--device-debug"})
    EXPECT_THAT(With({"-arch=sm_80", already}), ElementsAre("-arch=sm_80", already));
}

TEST(WithOptionTest, StrangeListsStayAsTheyAre) {
  const WithOption none(nullptr, 3);
  EXPECT_EQ(none.options(), nullptr);
  EXPECT_EQ(none.count(), 3u);
  const std::vector<const char*> many(kMostOptions + 1, "sm_80");
  EXPECT_EQ(With(many).size(), many.size());
  const std::vector<const char*> most(kMostOptions, "sm_80");
  EXPECT_EQ(With(most).size(), most.size() + 1);
  const char* const with_null[] = {"sm_80", nullptr};
  EXPECT_EQ(WithOption(with_null, 2).options(), with_null);
}

TEST(WithOptionTest, ALongerListEndsLikeAProgramsArguments) {
  const char* const arguments[] = {"ptxas", "in.ptx", "--gpu-name", "sm_80", nullptr};
  const WithOption longer(arguments, 4);
  ASSERT_TRUE(longer.is_longer());
  EXPECT_STREQ(longer.options()[4], "-lineinfo");
  EXPECT_EQ(longer.options()[5], nullptr);
  EXPECT_FALSE(WithOption(longer.options(), longer.count()).is_longer());
}

}  // namespace
}  // namespace tutti::keep_ptx
