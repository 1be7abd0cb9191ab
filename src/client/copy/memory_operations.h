// Operations of a stream on words of memory (cuStreamBatchMemOp and its like): waits for values, writes of values, and
// fences. A write is a fill of one element, a wait is a host call (client/copy/value_waits.h). Fences and flushes need
// no code: memory is coherent, and each record of a stream ends before the next begins.
#pragma once

#include <span>

#include "client/context/stream.h"
#include "cuda/types.h"

namespace tutti::client {

inline constexpr unsigned kMostMemoryOperations = 255;  // in one call; CUDA's limit

// The two versions of the functions. Only the second has barriers. Writes that need none (a flag of the first) are
// accepted by both: they are as ordered as the others.
enum class MemoryOperationApi { kFirst, kSecond };

// Checks kinds, flags and addresses. INVALID_VALUE for what CUDA leaves undefined, and for words that are misaligned,
// managed or in no allocation; NOT_SUPPORTED for what the version does not have. Thread-safe.
int CheckMemoryOperations(std::span<const cuda::CUstreamBatchMemOpParams> operations, MemoryOperationApi api);

// Submits operations that have been checked, in their order; their addresses are checked again, since a graph may keep
// them for long. Thread-safe.
int SubmitMemoryOperations(Stream& stream, std::span<const cuda::CUstreamBatchMemOpParams> operations);

// Whether the second may take the place of the first in an executable graph: the same kinds of operations in the same
// order.
bool SameKinds(std::span<const cuda::CUstreamBatchMemOpParams> first,
               std::span<const cuda::CUstreamBatchMemOpParams> second);

}  // namespace tutti::client
