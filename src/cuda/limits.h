// The limits of a fresh context (cuCtxGetLimit), as the driver documents or reports them.
#pragma once

#include <cstddef>

#include "cuda/types.h"

namespace tutti::cuda {

inline constexpr size_t kDefaultLimits[CU_LIMIT_COUNT] = {
    1024,     // stack
    1 << 20,  // printf FIFO
    8 << 20,  // device heap
    2,        // nested synchronisation depth
    2048,     // pending launches from the device
    64,       // L2 fetch granularity
    0,        // persisting L2
    0,       0,
    0,  // shared memory of graphics interoperation, and whether there is any
};

}  // namespace tutti::cuda
