// For the examples on the CUDA driver API (built without nvcc): declares the functions they use as the driver exports
// them, and adds a few helpers. A failed call ends the program with its name and error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

extern "C" {
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = struct CUstream_st*;

int cuInit(unsigned flags);
int cuGetErrorName(int error, const char** name);
int cuDeviceGetCount(int* count);
int cuDeviceGet(CUdevice* device, int ordinal);
int cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device);
int cuDevicePrimaryCtxRelease_v2(CUdevice device);
int cuCtxSetCurrent(CUcontext context);
int cuCtxSynchronize();
int cuModuleLoadData(CUmodule* module, const void* image);
int cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name);
int cuMemAlloc_v2(CUdeviceptr* address, size_t bytes);
int cuMemFree_v2(CUdeviceptr address);
int cuMemsetD8_v2(CUdeviceptr address, unsigned char value, size_t bytes);
int cuMemcpyHtoD_v2(CUdeviceptr destination, const void* source, size_t bytes);
int cuMemcpyDtoH_v2(void* destination, CUdeviceptr source, size_t bytes);
int cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void** arguments,
                   void** extra);
}

// Defines `const char name[]`: the text of a file, NUL-terminated. `file` is found through the include path of the
// build.
#define EMBED_TEXT(name, file)                                                     \
  asm(".section .rodata\n" #name ":\n.incbin \"" file "\"\n.byte 0\n.previous\n"); \
  extern "C" const char name[]

namespace driver {

inline void Check(int result, const char* call) {
  if (result == 0) return;
  const char* name = nullptr;
  cuGetErrorName(result, &name);
  std::fprintf(stderr, "%s: %s\n", call, name != nullptr ? name : "unknown error");
  std::exit(2);
}
#define CHECK_CU(call) driver::Check((call), #call)

// A device's primary context with one kernel in it.
class Program {
 public:
  Program(const char* ptx, const char* kernel, int ordinal = 0) {
    CHECK_CU(cuInit(0));
    CHECK_CU(cuDeviceGet(&device_, ordinal));
    CHECK_CU(cuDevicePrimaryCtxRetain(&context_, device_));
    CHECK_CU(cuCtxSetCurrent(context_));
    CHECK_CU(cuModuleLoadData(&module_, ptx));
    CHECK_CU(cuModuleGetFunction(&kernel_, module_, kernel));
  }
  ~Program() { CHECK_CU(cuDevicePrimaryCtxRelease_v2(device_)); }

  template <typename... Arguments>
  void Launch(unsigned blocks, unsigned block_x, unsigned block_y, Arguments... arguments) {
    void* pointers[] = {&arguments...};
    CHECK_CU(cuLaunchKernel(kernel_, blocks, 1, 1, block_x, block_y, 1, 0, nullptr, pointers, nullptr));
  }
  // Launches the kernel and waits for it.
  template <typename... Arguments>
  void Run(unsigned blocks, unsigned block_x, unsigned block_y, Arguments... arguments) {
    Launch(blocks, block_x, block_y, arguments...);
    CHECK_CU(cuCtxSynchronize());
  }

 private:
  CUdevice device_;
  CUcontext context_;
  CUmodule module_;
  CUfunction kernel_;
};

// Device memory for `count` values.
template <typename T>
class Buffer {
 public:
  explicit Buffer(size_t count) : bytes_(count * sizeof(T)) { CHECK_CU(cuMemAlloc_v2(&address_, bytes_)); }
  explicit Buffer(const std::vector<T>& values) : Buffer(values.size()) {
    CHECK_CU(cuMemcpyHtoD_v2(address_, values.data(), bytes_));
  }
  ~Buffer() { CHECK_CU(cuMemFree_v2(address_)); }
  Buffer(const Buffer&) = delete;

  CUdeviceptr address() const { return address_; }
  void Clear() { CHECK_CU(cuMemsetD8_v2(address_, 0, bytes_)); }
  std::vector<T> Read() const {
    std::vector<T> values(bytes_ / sizeof(T));
    CHECK_CU(cuMemcpyDtoH_v2(values.data(), address_, bytes_));
    return values;
  }

 private:
  CUdeviceptr address_;
  size_t bytes_;
};

}  // namespace driver
