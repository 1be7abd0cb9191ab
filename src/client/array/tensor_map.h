// Tensor maps as programs describe them: checks the description and writes the map (guest/tensor_map.h) into the
// program's own 128 bytes. No device is asked, and nothing remembers the map. Thread-safe.
#pragma once

#include <cstdint>

#include "cuda/types.h"

namespace tutti::client {

struct TensorMapDescription {
  cuda::CUtensorMapDataType type;
  uint32_t rank;
  const void* address;
  const uint64_t* sizes;
  const uint64_t* strides;  // rank - 1
  const uint32_t* element_strides;
  cuda::CUtensorMapInterleave interleave;
  cuda::CUtensorMapSwizzle swizzle;
  cuda::CUtensorMapL2promotion promotion;
  cuda::CUtensorMapFloatOOBfill fill;
};
struct Im2colBox {
  const int* lower;  // W, H, D: rank - 2
  const int* upper;
  uint32_t channels;
  uint32_t pixels;
};

// INVALID_VALUE where the driver's documentation forbids it, NOT_SUPPORTED for interleaved layouts and packed types;
// the log says which.
int EncodeTiled(cuda::CUtensorMap* out, const TensorMapDescription& description, const uint32_t* box);
int EncodeIm2col(cuda::CUtensorMap* out, const TensorMapDescription& description, const Im2colBox& box);
int ReplaceTensorAddress(cuda::CUtensorMap* map, const void* address);

}  // namespace tutti::client
