#include "server/running_kernels.h"

#include <gtest/gtest.h>

namespace tutti::server {
namespace {

TEST(RunningKernels, WhatFitsIsSaidInFull) {
  const std::vector<std::vector<std::string>> clients = {{"a\n", "b\n"}, {}, {"c\n"}};
  EXPECT_EQ(RunningAnswer(clients, 100), "a\nb\nc\n");
}

TEST(RunningKernels, AClientOfManyOrLongLinesHidesNoOthersAndWhatIsLeftOutIsCounted) {
  const std::string longest(2000, 'x');
  const std::vector<std::vector<std::string>> clients = {
      {longest, "first\n"}, std::vector<std::string>(500, "again\n"), {"last\n"}};
  const std::string answer = RunningAnswer(clients, 300);
  EXPECT_TRUE(answer.starts_with("first\nagain\n"));
  EXPECT_NE(answer.find("again\nlast\n"), std::string::npos);
  const size_t said = (answer.find("last\n") - 6) / 6;
  EXPECT_TRUE(answer.ends_with("last\n{\"left_out\":" + std::to_string(1 + 500 - said) + "}\n")) << answer;
  EXPECT_LT(answer.size(), 340u);
}

TEST(RunningKernels, WithoutClientsNothingIsSaid) { EXPECT_EQ(RunningAnswer({}, 100), ""); }

}  // namespace
}  // namespace tutti::server
