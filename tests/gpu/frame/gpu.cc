#include "frame/gpu.h"

#include <algorithm>
#include <string>

#include "frame/kernels.h"
#include "frame/numbers.h"
#include "frame/record.h"
#include "frame/settings.h"

namespace tutti::gpu {

using namespace cuda;

CUdevice OpenDriver() {
  if (const std::string problem = OpenVendor(Here().vendor); !problem.empty()) GiveUp(Outcome::kLacks, problem);
  CU(cuInit, 0u);
  CUdevice device = 0;
  CU(cuDeviceGet, &device, 0);
  return device;
}

Gpu OpenGpu() {
  Gpu gpu;
  const Stopwatch init;
  gpu.device = OpenDriver();
  gpu.init_ms = init.ms();
  const Stopwatch context;
  CU(cuDevicePrimaryCtxRetain, &gpu.context, gpu.device);
  CU(cuCtxSetCurrent, gpu.context);
  CU(cuCtxSynchronize);
  gpu.context_ms = context.ms();
  const Stopwatch kernel;
  Launch(Kernel("empty"), 1, 1, nullptr);
  CU(cuCtxSynchronize);
  gpu.kernel_ms = kernel.ms();
  return gpu;
}

CUmodule Load(const char* ptx) {
  CUmodule module = nullptr;
  CU(cuModuleLoadData, &module, static_cast<const void*>(ptx));
  return module;
}

CUfunction FunctionOf(CUmodule module, const char* name) {
  CUfunction function = nullptr;
  CU(cuModuleGetFunction, &function, module, name);
  return function;
}

CUfunction Kernel(const char* name) {
  static const CUmodule module = Load(kKernels);
  return FunctionOf(module, name);
}

CUstream NewStream() {
  CUstream stream = nullptr;
  CU(cuStreamCreate, &stream, static_cast<unsigned>(CU_STREAM_NON_BLOCKING));
  return stream;
}

int Attribute(CUdevice device, int attribute) {
  int value = 0;
  CU(cuDeviceGetAttribute, &value, attribute, device);
  return value;
}

int MultiprocessorCount(CUdevice device) { return Attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT); }

double FreeMib() {
  size_t free = 0, total = 0;
  CU(cuMemGetInfo_v2, &free, &total);
  return static_cast<double>(free) / (1 << 20);
}

uint64_t MemoryBudget() {
  const auto free = static_cast<uint64_t>(FreeMib() * 0.75) << 20;
  return std::min(free, Here().Size<uint64_t>(uint64_t{100} << 30, 256 << 20));
}

SharedWords::SharedWords(size_t count) {
  void* memory = nullptr;
  CU(cuMemHostAlloc, &memory, count * 8, static_cast<unsigned>(CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
  CU(cuMemHostGetDevicePointer_v2, &device_, memory, 0u);
  host_ = static_cast<volatile uint64_t*>(memory);
  for (size_t i = 0; i < count; ++i) host_[i] = 0;
}

void Holder::Start(CUstream stream, double limit_ms, unsigned blocks) {
  Launch(Kernel("hold"), blocks, 1, stream, words_.at(0), static_cast<uint64_t>(limit_ms * 1e6));
}

void FillPattern(CUdeviceptr at, uint64_t bytes, uint64_t seed, CUstream stream) {
  Launch(Kernel("pattern"), static_cast<unsigned>(std::clamp<uint64_t>(bytes >> 16, 1, 1024)), 256, stream, at,
         bytes / 8, seed, uint64_t{0});
}

uint64_t CountDifferences(CUdeviceptr at, uint64_t bytes, uint64_t seed) {
  // Counted in the device's memory: atomic operations on the host's are not promised. All in the default stream, since
  // a copy to the device may return before it is done.
  static const CUdeviceptr wrong = [] {
    CUdeviceptr word = 0;
    CU(cuMemAlloc_v2, &word, size_t{8});
    return word;
  }();
  uint64_t count = 0;
  CU(cuMemcpyHtoD_v2, wrong, static_cast<const void*>(&count), sizeof count);
  Launch(Kernel("pattern"), static_cast<unsigned>(std::clamp<uint64_t>(bytes >> 16, 1, 1024)), 256, nullptr, at,
         bytes / 8, seed, wrong);
  CU(cuMemcpyDtoH_v2, static_cast<void*>(&count), wrong, sizeof count);
  return count;
}

}  // namespace tutti::gpu
