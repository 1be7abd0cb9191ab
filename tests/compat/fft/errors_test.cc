#include "driver/fixture.h"
#include "fft/cufft.h"

namespace tutti::compat::fft {
namespace {

class FftErrorsTest : public DriverTest {};

TEST_F(FftErrorsTest, BadSizesTypesAndPointersAreRefused) {
  Handle plan = 77;
  EXPECT_EQ(cufftPlan1d(nullptr, 8, kC2C, 1), kInvalidValue);
  EXPECT_EQ(cufftPlan1d(&plan, 0, kC2C, 1), kInvalidSize);
  EXPECT_EQ(cufftPlan1d(&plan, -8, kC2C, 1), kInvalidSize);
  EXPECT_EQ(cufftPlan1d(&plan, 8, kC2C, 0), kInvalidSize);
  EXPECT_EQ(cufftPlan1d(&plan, 8, 0x77, 1), kInvalidType);
  EXPECT_EQ(cufftPlan2d(&plan, 0, 8, kR2C), kInvalidSize);
  EXPECT_EQ(cufftPlan3d(&plan, 8, 8, -8, kC2C), kInvalidSize);
  EXPECT_EQ(plan, 0);
  int n[4] = {8, 8, 8, 8};
  EXPECT_EQ(cufftPlanMany(&plan, 0, n, nullptr, 0, 0, nullptr, 0, 0, kC2C, 1), kInvalidValue);
  EXPECT_EQ(cufftPlanMany(&plan, 4, n, nullptr, 0, 0, nullptr, 0, 0, kC2C, 1), kInvalidValue);
  EXPECT_EQ(cufftPlanMany(&plan, 1, nullptr, nullptr, 0, 0, nullptr, 0, 0, kC2C, 1), kInvalidValue);
  EXPECT_EQ(cufftPlanMany(&plan, 1, n, n, 0, 8, n, 1, 8, kC2C, 1), kInvalidValue);
  EXPECT_EQ(cufftPlanMany(&plan, 1, n, n, 1, -8, n, 1, 8, kC2C, 2), kInvalidValue);
  EXPECT_EQ(cufftPlanMany(&plan, 1, n, n, 1, 8, nullptr, 1, 8, kC2C, 2), kInvalidValue);
  size_t work = 0;
  EXPECT_EQ(cufftEstimate1d(8, kC2C, 1, nullptr), kInvalidValue);
  EXPECT_EQ(cufftEstimate1d(0, kC2C, 1, &work), kInvalidSize);
}

TEST_F(FftErrorsTest, SizesThatNoMemoryHoldsAreRefused) {
  Handle plan = 0;
  const int huge = 0x7fffffff;
  EXPECT_EQ(cufftPlan3d(&plan, huge, huge, huge, kC2C), kInvalidSize);
  Long n[3] = {1LL << 40, 1LL << 40, 8}, embed[3] = {1, 1LL << 62, 1LL << 62};
  ASSERT_EQ(cufftCreate(&plan), kSuccess);
  EXPECT_EQ(cufftMakePlanMany64(plan, 3, n, nullptr, 0, 0, nullptr, 0, 0, kZ2Z, 1LL << 40, nullptr), kInvalidSize);
  Long small[3] = {2, 2, 2};
  EXPECT_EQ(cufftMakePlanMany64(plan, 3, small, embed, 1LL << 62, 1, embed, 1LL << 62, 1LL << 62, kC2C, 4, nullptr),
            kInvalidSize);
  Long large[1] = {1LL << 33};
  EXPECT_EQ(cufftMakePlanMany64(plan, 1, large, nullptr, 0, 0, nullptr, 0, 0, kC2C, 1, nullptr), kInvalidSize);
  EXPECT_EQ(cufftDestroy(plan), kSuccess);
}

TEST_F(FftErrorsTest, PlansThatAreNotThereOrNotMadeAreInvalid) {
  size_t work = 0;
  void* const memory = reinterpret_cast<void*>(Allocate(1024));
  for (const Handle none : {0, 12345, -2}) {
    EXPECT_EQ(cufftDestroy(none), kInvalidPlan);
    EXPECT_EQ(cufftExecC2C(none, memory, memory, kForward), kInvalidPlan);
    EXPECT_EQ(cufftSetStream(none, nullptr), kInvalidPlan);
    EXPECT_EQ(cufftGetSize(none, &work), kInvalidPlan);
    EXPECT_EQ(cufftMakePlan1d(none, 8, kC2C, 1, &work), kInvalidPlan);
  }
  EXPECT_EQ(cufftDestroy(-1), kSuccess);  // CUFFT_PLAN_NULL
  Handle plan = 0;
  EXPECT_EQ(cufftCreate(nullptr), kInvalidValue);
  ASSERT_EQ(cufftCreate(&plan), kSuccess);
  EXPECT_EQ(cufftExecC2C(plan, memory, memory, kForward), kInvalidPlan);
  EXPECT_EQ(cufftGetSize(plan, &work), kInvalidPlan);
  EXPECT_EQ(cufftMakePlan1d(plan, 0, kC2C, 1, &work), kInvalidSize);
  EXPECT_EQ(cufftMakePlan1d(plan, 8, kC2C, 1, &work), kSuccess);
  EXPECT_EQ(cufftMakePlan1d(plan, 8, kC2C, 1, &work), kInvalidPlan);
  EXPECT_EQ(cufftDestroy(plan), kSuccess);
  EXPECT_EQ(cufftDestroy(plan), kInvalidPlan);
}

TEST_F(FftErrorsTest, ExecutionsThatDoNotFitThePlanAreRefused) {
  Handle plan = 0;
  char* const memory = reinterpret_cast<char*>(Allocate(1024));
  ASSERT_EQ(cufftPlan1d(&plan, 8, kC2C, 1), kSuccess);
  EXPECT_EQ(cufftExecC2C(plan, nullptr, memory, kForward), kInvalidValue);
  EXPECT_EQ(cufftExecC2C(plan, memory, nullptr, kForward), kInvalidValue);
  EXPECT_EQ(cufftExecC2C(plan, memory, memory, 2), kInvalidValue);
  EXPECT_EQ(cufftExecC2C(plan, memory + 4, memory, kForward), kInvalidValue);
  EXPECT_EQ(cufftExecR2C(plan, memory, memory), kInvalidType);
  EXPECT_EQ(cufftExecZ2Z(plan, memory, memory, kForward), kInvalidType);
  EXPECT_EQ(cufftExecC2C(plan, memory, memory, kForward), kSuccess);
  CU_EXPECT(cuCtxSynchronize());
  EXPECT_EQ(cufftDestroy(plan), kSuccess);
}

TEST_F(FftErrorsTest, WhatIsThereByNameOnlySaysSo) {
  Handle plan = 0;
  ASSERT_EQ(cufftPlan1d(&plan, 8, kC2C, 1), kSuccess);
  EXPECT_EQ(cufftXtSetCallback(plan, nullptr, 0, nullptr), kNotSupported);
  EXPECT_EQ(cufftDestroy(plan), kSuccess);
  Long n = 8;
  constexpr int kComplexHalf = 6, kRealFloat = 0, kComplexFloat = 4;
  ASSERT_EQ(cufftCreate(&plan), kSuccess);
  EXPECT_EQ(cufftXtMakePlanMany(plan, 1, &n, nullptr, 1, 8, kComplexHalf, nullptr, 1, 8, kComplexHalf, 1, nullptr,
                                kComplexHalf),
            kNotSupported);
  EXPECT_EQ(
      cufftXtMakePlanMany(plan, 1, &n, nullptr, 1, 8, kRealFloat, nullptr, 1, 8, kRealFloat, 1, nullptr, kComplexFloat),
      kInvalidType);
  EXPECT_EQ(cufftDestroy(plan), kSuccess);
}

TEST_F(FftErrorsTest, TheVersionIsThatOfTheLibrarysName) {
  int version = 0, major = 0;
  EXPECT_EQ(cufftGetVersion(&version), kSuccess);
  EXPECT_EQ(cufftGetProperty(0, &major), kSuccess);
  EXPECT_EQ(version / 1000, 12);
  EXPECT_EQ(major, 12);
  EXPECT_EQ(cufftGetProperty(7, &major), kInvalidType);
  EXPECT_EQ(cufftGetProperty(0, nullptr), kInvalidValue);
}

}  // namespace
}  // namespace tutti::compat::fft
