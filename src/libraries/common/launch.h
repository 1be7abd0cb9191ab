// Launches kernels of a library.
#pragma once

#include <cstdint>

#include "libraries/common/device_code.h"

namespace tutti::libraries {

struct Grid {
  uint32_t x = 1, y = 1, z = 1;
};

// The most blocks along x, and along y and z, that a launch takes; kernels loop over the rest.
inline constexpr int64_t kMostBlocksX = 0x7fffffff, kMostBlocks = 65535;

// Launches in the current context's `stream`. The arguments must have exactly the types of the kernel's parameters:
// most kernels take one structure from a header that they share with their caller. Returns what the driver says.
template <typename... Arguments>
CUresult Launch(Kernel& kernel, CUstream stream, Grid grid, Grid block, Arguments... arguments) {
  CUfunction function = nullptr;
  if (const CUresult found = kernel.Find(&function); found != CUDA_SUCCESS) return found;
  void* pointers[] = {&arguments..., nullptr};
  return cuLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z, 0, stream, pointers, nullptr);
}

}  // namespace tutti::libraries
