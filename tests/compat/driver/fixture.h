// For tests of libcuda.so.1 as programs call it: a primary context on the first device, PTX to launch, and helpers to
// allocate and read back.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "driver_api.h"

namespace tutti::compat {

using namespace tutti::cuda;

// Kernels for every test: add_one(u32* data, u32 n); fill(u32* data, u32 n, u32 value); spin(u32* flag) runs until
// *flag != 0; stray(u64) writes to a wild address. Globals: `table` (16 u32, initialised 100, 101, ...), `scale` (const
// u32 = 3).
extern const char* const kPtx;

// Whether this process may touch device memory itself; not with TUTTI_CPU_REACHABLE=0.
bool ReachesDeviceMemory();

#define CU_EXPECT(expression) EXPECT_EQ((expression), CUDA_SUCCESS)
#define CU_ASSERT(expression) ASSERT_EQ((expression), CUDA_SUCCESS)

class DriverTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { CU_ASSERT(cuInit(0)); }
  void SetUp() override;
  void TearDown() override;

  // Loads kPtx once per test.
  CUmodule module();
  CUfunction Function(const char* name);
  CUdeviceptr Allocate(size_t bytes);
  std::vector<uint32_t> Read(CUdeviceptr address, size_t count);
  CUresult Launch(CUfunction function, unsigned blocks, unsigned threads, void** parameters, CUstream stream = nullptr);
  CUresult AddOne(CUdeviceptr data, uint32_t count, CUstream stream = nullptr);

  CUcontext context_ = nullptr;

 private:
  CUmodule module_ = nullptr;
};

}  // namespace tutti::compat
