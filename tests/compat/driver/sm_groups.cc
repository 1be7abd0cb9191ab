// Green contexts on a device that gives its 20 SMs in groups of eight, as GPUs do since Hopper.
#include "driver/fixture.h"

namespace tutti::compat {
namespace {

using SmGroups = DriverTest;

CUdevResource Whole() {
  CUdevResource whole{};
  CU_EXPECT(cuDeviceGetDevResource(0, &whole, CU_DEV_RESOURCE_TYPE_SM));
  return whole;
}

TEST_F(SmGroups, AResourceSaysWhatItIsDividedInto) {
  const CUdevResource whole = Whole();
  EXPECT_EQ(whole.sm.smCount, 20u);
  EXPECT_EQ(whole.sm.minSmPartitionSize, 8u);
  EXPECT_EQ(whole.sm.smCoscheduledAlignment, 8u);
}

TEST_F(SmGroups, ASplitGivesWholeGroups) {
  const CUdevResource whole = Whole();
  CUdevResource parts[4], rest;
  unsigned count = 4;
  CU_ASSERT(cuDevSmResourceSplitByCount(parts, &count, &whole, &rest, 0, 3));
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(parts[0].sm.smCount, 8u);
  EXPECT_EQ(parts[1].sm.smCount, 8u);
  EXPECT_EQ(rest.sm.smCount, 4u);
  CU_ASSERT(cuDevSmResourceSplitByCount(parts, &count, &whole, &rest, 0, 9));
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(parts[0].sm.smCount, 16u);
  EXPECT_EQ(cuDevSmResourceSplitByCount(nullptr, &count, &whole, nullptr, 0, 17),
            CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
}

}  // namespace
}  // namespace tutti::compat
