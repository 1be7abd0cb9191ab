// Parts of the device's multiprocessors, and contexts that have no others.
#pragma once

#include <span>
#include <vector>

#include "frame/gpu.h"

namespace tutti::gpu {

struct SmGroups {
  std::vector<cuda::CUdevResource> groups;
  cuda::CUdevResource rest{};
};
// Splits the device, once, into groups of at least `least` multiprocessors. `flags` as the driver's.
SmGroups SplitSms(cuda::CUdevice device, unsigned least, unsigned flags = 0);

struct GreenContext {
  cuda::CUgreenCtx context = nullptr;
  cuda::CUstream stream = nullptr;
};
// Of these groups together; any result in `result`, or none may go wrong.
GreenContext MakeGreenContext(cuda::CUdevice device, std::span<const cuda::CUdevResource> groups,
                              int* result = nullptr);

}  // namespace tutti::gpu
