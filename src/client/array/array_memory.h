// The memory of arrays, or the array that the device makes (wire/arrays.h): the same addresses, for copies.
#pragma once

#include <cstdint>

#include "client/base/answer.h"
#include "cuda/types.h"
#include "wire/arrays.h"

namespace tutti::client {

class Context;

struct ArrayMemory {
  uint64_t address = 0;
  uint64_t allocation = 0;  // its Allocation::id
  wire::ArrayLayout layout;
};
// INVALID_VALUE for shapes and formats that CUDA does not have. Thread-safe.
Answer<ArrayMemory> AllocateArray(Context& context, const cuda::CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned levels,
                                  bool is_mipmapped);
// Nothing if it was freed with its context: others may lie there now.
void FreeArray(uint64_t address, uint64_t allocation);

}  // namespace tutti::client
