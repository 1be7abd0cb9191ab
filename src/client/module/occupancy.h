// Occupancy: how many blocks of a kernel fit on an SM, by the device's reported limits.
#pragma once

#include <cstdint>

#include "client/module/function.h"
#include "cuda/types.h"

namespace tutti::client {

// Blocks of `block_size` threads with that much dynamic shared memory that are resident on one SM at a time; 0 if none
// fits.
int BlocksPerSm(const Function& function, int block_size, size_t dynamic_shared_bytes);

struct BlockSuggestion {
  int min_grid = 0;  // blocks that fill the device
  int block = 0;
};
// The block size of the highest occupancy; of equal ones the largest. `shared_of`: dynamic shared memory by block size,
// or null for `dynamic_shared_bytes` with any. `limit` 0: none.
BlockSuggestion SuggestBlock(const Function& function, cuda::CUoccupancyB2DSize shared_of, size_t dynamic_shared_bytes,
                             int limit);

// The most dynamic shared memory per block with which `blocks` blocks still fit on one SM.
size_t AvailableShared(const Function& function, int blocks, int block_size);

}  // namespace tutti::client
