// Types and numbers of the driver ABI that only the GPU run uses, beside those of cuda/types.h. vendor_types_test.cc
// holds them against the toolkit's header where there is one.
#pragma once

#include "cuda/device_attribute.h"
#include "cuda/types.h"

namespace tutti::cuda {

using CUmemAllocationHandleType = int;
using CUcoredumpSettings = int;

enum : unsigned { CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING = 1 };
enum : int { CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3 };
enum : int {
  CU_COREDUMP_ENABLE_ON_EXCEPTION = 1,
  CU_COREDUMP_FILE = 5,
  CU_COREDUMP_GENERATION_FLAGS = 7,
};
// Everything left out but what the kernels were doing; and the process is not aborted.
inline constexpr unsigned kLightweightCoredump = 1 | 2 | 4 | 8 | 16 | 32;

enum : int { CU_COMPUTEMODE_DEFAULT = 0, CU_COMPUTEMODE_PROHIBITED = 2, CU_COMPUTEMODE_EXCLUSIVE_PROCESS = 3 };

}  // namespace tutti::cuda
