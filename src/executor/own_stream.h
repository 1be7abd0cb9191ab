// Streams for what an executor does itself, beside its places' records: words that kernels are to see, memory that is
// cleared. They have the highest priority, so that of the work that waits for room on the device theirs comes first.
#pragma once

#include "base/error.h"
#include "executor/vendor.h"

namespace tutti::executor {

// With a context that is current. Waits for no other stream, nor any for it.
Result<cuda::CUstream> CreateOwnStream(const Vendor& vendor);

}  // namespace tutti::executor
