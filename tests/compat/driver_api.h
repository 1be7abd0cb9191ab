// The driver API for a program without the toolkit: every supported function of the API table, declared by its exported
// name. Link the target `cuda`.
#pragma once

#include "cuda/types.h"

namespace tutti::cuda {
extern "C" {
#define CU_ENTRY(symbol, name, version, class, body, types) CUresult symbol types;
#define CU_PER_THREAD CU_ENTRY
#include "cuda/api.def"
}
}  // namespace tutti::cuda
