// That steps never overwrite what they or later ones read, and stay within the work area: for many problems, from the
// steps alone.
#include <gtest/gtest.h>

#include "libraries/fft/steps.h"

namespace tutti::fft {
namespace {

Problem ProblemOf(Kind kind, const std::vector<int64_t>& n, int64_t batch) {
  Problem problem;
  EXPECT_FALSE(MakeProblem(static_cast<int>(n.size()), n.data(), nullptr, nullptr, kind, false, batch, problem));
  return problem;
}

bool WritesWhatItReads(const Step& step) {
  const bool is_last_pass = std::holds_alternative<PassArguments>(step.arguments) &&
                            (std::get<PassArguments>(step.arguments).m == 1 || step.kernel.starts_with("whole_"));
  return is_last_pass || step.kernel.starts_with("multiply") || step.kernel.starts_with("real_spectrum") ||
         step.kernel.starts_with("spectrum_real");
}

class MakeStepsTest : public testing::TestWithParam<Kind> {
 protected:
  template <typename Check>
  static void ForAll(Check check) {
    for (const auto& n : std::vector<std::vector<int64_t>>{{1},
                                                           {2},
                                                           {3},
                                                           {16},
                                                           {30},
                                                           {37},
                                                           {128},
                                                           {360},
                                                           {8192},
                                                           {65536},
                                                           {4, 6},
                                                           {1, 9},
                                                           {64, 1},
                                                           {37, 16},
                                                           {256, 256},
                                                           {6, 5, 4},
                                                           {17, 4, 8},
                                                           {1, 1, 1},
                                                           {64, 64, 64}}) {
      for (const int64_t batch : {1, 7}) {
        for (const bool is_in_place : {false, true}) {
          Tables tables;
          const auto steps = MakeSteps(ProblemOf(GetParam(), n, batch), {is_in_place, false}, tables);
          ASSERT_TRUE(steps);
          check(*steps, is_in_place, tables);
        }
      }
    }
  }
};

TEST_P(MakeStepsTest, TheInputIsReadFirstAndTheOutputWrittenLast) {
  ForAll([](const Steps& steps, bool is_in_place, const Tables&) {
    ASSERT_FALSE(steps.steps.empty());
    EXPECT_EQ(steps.steps.back().to.place, Place::kOut);
    bool is_out_written = false;
    for (const Step& step : steps.steps) {
      EXPECT_NE(step.to.place, Place::kIn);
      EXPECT_FALSE(is_in_place && step.from.place == Place::kIn && step.from.offset == 0 && is_out_written);
      is_out_written |= step.to.place == Place::kOut;
    }
  });
}

TEST_P(MakeStepsTest, OnlyStepsThatWorkInPlaceDo) {
  ForAll([](const Steps& steps, bool is_in_place, const Tables&) {
    for (const Step& step : steps.steps) {
      const bool is_same = step.from.place == step.to.place ||
                           (is_in_place && step.from.place == Place::kIn && step.to.place == Place::kOut);
      if (!is_same) continue;
      // A copy to itself is all there is to transforms of one point.
      EXPECT_TRUE(WritesWhatItReads(step) || steps.steps.size() == 1) << step.kernel;
      EXPECT_EQ(step.from.pitch, step.to.pitch) << step.kernel;
    }
  });
}

// A hole in the work area would be memory that is allocated for nothing.
TEST_P(MakeStepsTest, PlacesWithoutRoomAreNotUsed) {
  ForAll([](const Steps& steps, bool, const Tables& tables) {
    for (const Step& step : steps.steps) {
      for (const Place place : {step.from.place, step.to.place}) {
        const bool is_scratch = place == Place::kScratch || place == Place::kSecondScratch;
        EXPECT_TRUE(place != Place::kWork || steps.work > 0);
        EXPECT_TRUE(place != Place::kSecondWork || steps.second_work > 0);
        EXPECT_TRUE(!is_scratch || steps.scratch > 0);
      }
      EXPECT_TRUE(step.table == kNoTable || step.table < tables.elements());
      EXPECT_GT(step.blocks, 0u);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Kinds, MakeStepsTest,
                         testing::Values(Kind::kComplex, Kind::kRealToComplex, Kind::kComplexToReal));

}  // namespace
}  // namespace tutti::fft
