// What tests of every order of steps (interleavings.h, threads.h) expect of it.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/testing/threads.h"

namespace tutti::interleavings {

class EveryOrderTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!kCanSwitch) GTEST_SKIP() << "not under sanitizers of memory and threads";
  }
};

// All states were seen, more than so many, and nothing is wrong in any of them.
inline void ExpectNoProblem(const Outcome& outcome, uint64_t more_than) {
  EXPECT_EQ(outcome.problem, "");
  EXPECT_TRUE(outcome.complete) << outcome.states << " states";
  EXPECT_GT(outcome.states, more_than);
}

// What was left out is missed: `problem` is a part of what is said of it.
inline void ExpectProblem(const Outcome& outcome, const std::string& problem) {
  EXPECT_NE(outcome.problem.find(problem), std::string::npos) << outcome.states << " states: " << outcome.problem;
}

}  // namespace tutti::interleavings
