// What clients do where a device is not the CPU device: what they cannot know they ask, and what holds for all block
// shapes they ask for once. On the null device, which runs nothing.
#include "driver/fixture.h"

namespace tutti::compat {
namespace {

using ForeignDevice = DriverTest;

constexpr int kThreadsPerSm = 2048;  // device/null/null_space.h

TEST_F(ForeignDevice, OccupancyIsWhatTheDeviceSays) {
  const CUfunction kernel = Function("add_one");
  for (const int threads : {32, 100, 256, 1024, 256}) {
    int blocks = 0;
    CU_EXPECT(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, 0));
    EXPECT_EQ(blocks, kThreadsPerSm / ((threads + 31) / 32 * 32)) << threads;
  }
  int grid = 0, block = 0;
  CU_EXPECT(cuOccupancyMaxPotentialBlockSize(&grid, &block, kernel, nullptr, 0, 0));
  EXPECT_EQ(block, 1024);
  EXPECT_EQ(grid, 2 * kThreadsPerSm / 1024) << "on two SMs";
}

TEST_F(ForeignDevice, ACooperativeGridFitsTheDeviceByItsOwnNumber) {
  const CUfunction kernel = Function("add_one");
  CUdeviceptr data = Allocate(4);
  uint32_t count = 0;
  void* parameters[] = {&data, &count};
  CU_EXPECT(cuLaunchCooperativeKernel(kernel, 4, 1, 1, 1024, 1, 1, 0, nullptr, parameters));
  EXPECT_EQ(cuLaunchCooperativeKernel(kernel, 5, 1, 1, 1024, 1, 1, 0, nullptr, parameters),
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  CU_EXPECT(cuCtxSynchronize());
}

// More shapes than a function keeps at hand.
TEST_F(ForeignDevice, AKernelIsLaunchedInManyShapes) {
  const CUfunction kernel = Function("add_one");
  CUdeviceptr data = Allocate(4);
  uint32_t count = 0;
  void* parameters[] = {&data, &count};
  for (unsigned threads = 1; threads <= 40; ++threads) CU_EXPECT(Launch(kernel, 1, threads, parameters));
  CU_EXPECT(cuCtxSynchronize());
}

TEST_F(ForeignDevice, PrioritiesAreTheDevices) {
  int least = 7, greatest = 7;
  CU_ASSERT(cuCtxGetStreamPriorityRange(&least, &greatest));
  EXPECT_EQ(least, 0);
  EXPECT_EQ(greatest, -1);
  CUstream stream = nullptr;
  CU_ASSERT(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -5));
  int priority = 7;
  CU_EXPECT(cuStreamGetPriority(stream, &priority));
  EXPECT_EQ(priority, -1);
  CU_EXPECT(cuStreamDestroy_v2(stream));
}

}  // namespace
}  // namespace tutti::compat
