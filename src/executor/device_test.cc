// What is asked of a driver as an executor starts, with one that notes it.
#include "executor/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cuda/device_attribute.h"
#include "cuda/result.h"

namespace tutti::executor {
namespace {

using testing::ElementsAre;

std::vector<std::string> calls_at_start;

Vendor NotingDriver() {
  using namespace cuda;
  Vendor vendor;
  vendor.cuGetErrorName = [](CUresult, const char**) -> CUresult { return CUDA_ERROR_INVALID_VALUE; };
  vendor.cuInit = [](unsigned) -> CUresult { return CUDA_SUCCESS; };
  vendor.cuDeviceGetCount = [](int* count) -> CUresult { return *count = 1, CUDA_SUCCESS; };
  vendor.cuDeviceGet = [](CUdevice* device, int) -> CUresult { return *device = 0, CUDA_SUCCESS; };
  vendor.cuDeviceGetName = [](char* name, int, CUdevice) -> CUresult { return *name = '\0', CUDA_SUCCESS; };
  vendor.cuDeviceGetUuid_v2 = [](CUuuid*, CUdevice) -> CUresult { return CUDA_SUCCESS; };
  vendor.cuDeviceTotalMem_v2 = [](size_t* bytes, CUdevice) -> CUresult { return *bytes = 1 << 30, CUDA_SUCCESS; };
  vendor.cuDeviceGetAttribute = [](int* value, CUdevice_attribute attribute, CUdevice) -> CUresult {
    return *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_MODE ? 0 : 1, CUDA_SUCCESS;
  };
  vendor.cuMemGetAllocationGranularity = [](size_t* bytes, const CUmemAllocationProp*, int) -> CUresult {
    return *bytes = 2 << 20, CUDA_SUCCESS;
  };
  vendor.cuDevicePrimaryCtxSetFlags_v2 = [](CUdevice, unsigned flags) -> CUresult {
    calls_at_start.push_back("flags " + std::to_string(flags));
    return CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE;
  };
  vendor.cuDevicePrimaryCtxRetain = [](CUcontext*, CUdevice) -> CUresult {
    calls_at_start.emplace_back("context");
    return CUDA_SUCCESS;
  };
  vendor.cuCtxSetCurrent = [](CUcontext) -> CUresult { return CUDA_SUCCESS; };
  vendor.cuCtxGetStreamPriorityRange = [](int* least, int* most) -> CUresult {
    *least = 0, *most = -5;
    return CUDA_SUCCESS;
  };
  return vendor;
}

// Else the end of a place whose kernel is endless would keep a processor busy for as long.
TEST(DeviceTest, WhoWaitsForTheDriverIsToSleepIfTheDriverLetsIt) {
  calls_at_start.clear();
  const auto device = OpenDevice(NotingDriver());
  ASSERT_TRUE(device) << device.error().text;
  EXPECT_THAT(calls_at_start, ElementsAre("flags " + std::to_string(cuda::CU_CTX_SCHED_BLOCKING_SYNC), "context"));
}

}  // namespace
}  // namespace tutti::executor
