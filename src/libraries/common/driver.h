// The driver API, as the libraries of the CPU device use it: every supported function of the API table, by its exported
// name. They are linked with libcuda.so.1 as any program is, so the loader gives them the one that the process has, and
// their allocations and launches are the process's own.
#pragma once

#include "cuda/types.h"

namespace tutti::cuda {
extern "C" {
#define CU_ENTRY(symbol, name, version, class, body, types) CUresult symbol types;
#define CU_PER_THREAD CU_ENTRY
#include "cuda/api.def"
}
}  // namespace tutti::cuda

namespace tutti::libraries {
using namespace cuda;  // NOLINT: the driver's names are what these folders speak
}
