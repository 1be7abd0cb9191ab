// The benchmarks' side of the driver API: what the examples declare, and the calls that only benchmarks use.
#pragma once

#include "../examples/common/driver_program.h"

extern "C" {
int cuModuleUnload(CUmodule module);
int cuStreamCreate(CUstream* stream, unsigned flags);
int cuStreamSynchronize(CUstream stream);
int cuMemAllocHost_v2(void** address, size_t bytes);
int cuMemFreeHost(void* address);
int cuMemsetD32_v2(CUdeviceptr address, unsigned value, size_t count);
}

namespace bench {

// The first device's primary context, current in this thread.
inline void OpenDevice() {
  CUdevice device;
  CUcontext context;
  CHECK_CU(cuInit(0));
  CHECK_CU(cuDeviceGet(&device, 0));
  CHECK_CU(cuDevicePrimaryCtxRetain(&context, device));
  CHECK_CU(cuCtxSetCurrent(context));
}

inline CUmodule LoadModule(const char* ptx) {
  CUmodule module;
  CHECK_CU(cuModuleLoadData(&module, ptx));
  return module;
}

inline CUfunction GetFunction(CUmodule module, const char* name) {
  CUfunction function;
  CHECK_CU(cuModuleGetFunction(&function, module, name));
  return function;
}

template <typename... Arguments>
void Launch(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned block_x, unsigned block_y, CUstream stream,
            Arguments... arguments) {
  void* pointers[] = {&arguments..., nullptr};
  CHECK_CU(cuLaunchKernel(function, grid_x, grid_y, 1, block_x, block_y, 1, 0, stream, pointers, nullptr));
}

inline constexpr const char kEmptyKernel[] =
    ".version 6.0\n.target sm_70\n.address_size 64\n.visible .entry empty() { ret; }\n";

}  // namespace bench
