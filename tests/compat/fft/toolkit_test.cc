// What cufft.h beside this says, compared with the header of a toolkit, where one is installed.
#if __has_include(<cufftXt.h>)
#include <cufftXt.h>

namespace theirs {
constexpr int kStatuses[] = {CUFFT_SUCCESS,       CUFFT_INVALID_PLAN, CUFFT_ALLOC_FAILED, CUFFT_INVALID_TYPE,
                             CUFFT_INVALID_VALUE, CUFFT_EXEC_FAILED,  CUFFT_SETUP_FAILED, CUFFT_INVALID_SIZE,
                             CUFFT_NO_WORKSPACE,  CUFFT_NOT_SUPPORTED};
constexpr int kTypes[] = {CUFFT_C2C, CUFFT_R2C, CUFFT_C2R, CUFFT_Z2Z, CUFFT_D2Z, CUFFT_Z2D};
constexpr int kDataTypes[] = {CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F, CUDA_R_16F, CUDA_C_16F};
constexpr int kProperties[] = {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL};
constexpr int kDirections[] = {CUFFT_FORWARD, CUFFT_INVERSE};
static_assert(CUFFT_PLAN_NULL == -1 && sizeof(cufftHandle) == sizeof(int) && sizeof(cufftResult) == sizeof(int));
static_assert(sizeof(cufftComplex) == 8 && sizeof(cufftDoubleComplex) == 16);
}  // namespace theirs

#include <gtest/gtest.h>

#include "libraries/fft/abi.h"

namespace tutti::fft {
namespace {

template <typename... Ours>
std::vector<int> Numbers(Ours... ours) {
  return {static_cast<int>(ours)...};
}
template <size_t kCount>
std::vector<int> All(const int (&numbers)[kCount]) {
  return {numbers, numbers + kCount};
}

TEST(FftToolkitTest, TheNumbersOfTheInterfaceAreTheToolkits) {
  using enum FftResult;
  EXPECT_EQ(Numbers(kSuccess, kInvalidPlan, kAllocFailed, kInvalidType, kInvalidValue, kExecFailed, kSetupFailed,
                    kInvalidSize, kNoWorkspace, kNotSupported),
            All(theirs::kStatuses));
  EXPECT_EQ(Numbers(kC2C, kR2C, kC2R, kZ2Z, kD2Z, kZ2D), All(theirs::kTypes));
  EXPECT_EQ(Numbers(kReal32, kReal64, kComplex32, kComplex64, kReal16, kComplex16), All(theirs::kDataTypes));
  EXPECT_EQ(Numbers(kMajorVersion, kMinorVersion, kPatchLevel), All(theirs::kProperties));
  EXPECT_EQ(Numbers(kForward, kInverse), All(theirs::kDirections));
}

}  // namespace
}  // namespace tutti::fft
#endif
