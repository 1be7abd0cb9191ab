// A driver for executors (executor/vendor.def) that does nothing: what is left is the way to it. Its one kernel runs in
// cuLaunchKernelEx. It has two arguments: a time stamp, and the address of a word of the window's host part that gets
// the ticks since then, or 0.
#include <sys/mman.h>
#include <x86intrin.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "client/process/arguments.h"
#include "cuda/device_attribute.h"
#include "cuda/types.h"

namespace tutti::cuda {

// What has no answer of its own succeeds.
namespace fallback {
#define CU_VENDOR(symbol, need, types) \
  template <typename... T>             \
  int symbol(T...) {                   \
    return CUDA_SUCCESS;               \
  }
#include "executor/vendor.def"
#undef CU_VENDOR
}  // namespace fallback

namespace answers {

using namespace fallback;

constexpr size_t kDeviceBytes = 1ull << 30;

void* Word(uintptr_t value) { return reinterpret_cast<void*>(value); }
template <typename Handle>
int Make(Handle* out) {
  static std::atomic<uintptr_t> last{0x1000};
  *out = reinterpret_cast<Handle>(++last);
  return CUDA_SUCCESS;
}

int cuGetErrorName(CUresult, const char** name) { return *name = "CUDA_ERROR", CUDA_SUCCESS; }
int cuDriverGetVersion(int* version) { return *version = 13000, CUDA_SUCCESS; }
int cuDeviceGetCount(int* count) { return *count = 1, CUDA_SUCCESS; }
int cuDeviceGet(CUdevice* device, int) { return *device = 0, CUDA_SUCCESS; }
int cuDeviceGetName(char* name, int, CUdevice) { return std::strcpy(name, "nothing"), CUDA_SUCCESS; }
int cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice) { return std::memset(uuid, 1, sizeof *uuid), CUDA_SUCCESS; }
int cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_MODE ? 0 : 1;
  return CUDA_SUCCESS;
}
int cuDeviceTotalMem_v2(size_t* bytes, CUdevice) { return *bytes = kDeviceBytes, CUDA_SUCCESS; }
int cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) { return Make(context); }
int cuModuleLoadDataEx(CUmodule* module, const void*, unsigned, CUjit_option*, void**) { return Make(module); }
int cuModuleGetFunctionCount(unsigned* count, CUmodule) { return *count = 1, CUDA_SUCCESS; }
int cuModuleEnumerateFunctions(CUfunction* functions, unsigned, CUmodule) { return Make(functions); }
int cuModuleGetGlobal_v2(CUdeviceptr*, size_t*, CUmodule, const char*) { return CUDA_ERROR_NOT_FOUND; }
int cuFuncGetName(const char** name, CUfunction) { return *name = "stamp", CUDA_SUCCESS; }
int cuFuncGetParamInfo(CUfunction, size_t index, size_t* offset, size_t* bytes) {
  *offset = 8 * index;
  *bytes = 8;
  return index < 2 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
int cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction) {
  *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0;
  return CUDA_SUCCESS;
}
int cuStreamCreateWithPriority(CUstream* stream, unsigned, int) { return Make(stream); }
int cuEventCreate(CUevent* event, unsigned) { return Make(event); }
int cuMemAddressReserve(CUdeviceptr* address, size_t bytes, size_t, CUdeviceptr wish, unsigned long long) {
  *address = reinterpret_cast<CUdeviceptr>(
      mmap(Word(wish), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  return CUDA_SUCCESS;
}
int cuMemHostGetDevicePointer_v2(CUdeviceptr* device, void* host, unsigned) {
  *device = reinterpret_cast<CUdeviceptr>(host);
  return CUDA_SUCCESS;
}
int cuMemExportToShareableHandle(void*, CUmemGenericAllocationHandle, int, unsigned long long) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
int cuLaunchKernelEx(const CUlaunchConfig*, CUfunction, void**, void** extra) {
  uint64_t arguments[2];
  std::memcpy(arguments, extra[1], sizeof arguments);
  if (arguments[1] != 0) std::atomic_ref(*reinterpret_cast<uint64_t*>(arguments[1])).store(__rdtsc() - arguments[0]);
  return CUDA_SUCCESS;
}

}  // namespace answers

#define CU_VENDOR(symbol, need, types)                                                        \
  extern "C" __attribute__((visibility("default"))) CUresult symbol(TUTTI_PARAMETERS types) { \
    return answers::symbol(TUTTI_ARGUMENTS types);                                            \
  }
#include "executor/vendor.def"
#undef CU_VENDOR

}  // namespace tutti::cuda
