// Arrays: opaque memory with a shape, here with a linear layout: rows, and planes (or layers) of rows. Where the device
// makes arrays (wire/arrays.h) the layout is that of their addresses alone, by which copies name what is in them.
#pragma once

#include <cstdint>

#include "client/base/answer.h"
#include "client/base/pool.h"
#include "client/copy/copy.h"
#include "cuda/array_format.h"
#include "cuda/types.h"

namespace tutti::client {

class Context;

// Immutable, so thread-safe.
class Array {
 public:
  // `allocation`: the Allocation::id of its memory.
  Array(const cuda::CUDA_ARRAY3D_DESCRIPTOR& descriptor, uint64_t address, uint64_t allocation, uint64_t row_bytes,
        bool is_level)
      : descriptor_(descriptor),
        address_(address),
        allocation_(allocation),
        row_bytes_(row_bytes),
        is_level_(is_level) {}

  static Array* Find(const void* handle) { return pool_.Find(handle); }
  // INVALID_VALUE for shapes and formats that CUDA does not have.
  static Answer<Array*> Create(Context& context, const cuda::CUDA_ARRAY3D_DESCRIPTOR& descriptor);
  // For arrays that a program made: INVALID_VALUE for levels of a mipmapped array, which end with it.
  static int Destroy(Array* array);

  cuda::CUarray handle() { return reinterpret_cast<cuda::CUarray>(this); }
  const cuda::CUDA_ARRAY3D_DESCRIPTOR& descriptor() const { return descriptor_; }
  uint64_t address() const { return address_; }
  uint64_t row_bytes() const { return row_bytes_; }
  uint64_t element_bytes() const { return cuda::TexelBytes(descriptor_.Format, descriptor_.NumChannels); }
  uint64_t rows() const { return descriptor_.Height == 0 ? 1 : descriptor_.Height; }
  uint64_t planes() const { return descriptor_.Depth == 0 ? 1 : descriptor_.Depth; }
  // The address of (x bytes, y, z).
  CopySide At(uint64_t x_bytes, uint64_t y, uint64_t z) const;
  // Whether a copy of that shape at (x bytes, y, z) stays inside the array.
  bool Holds(uint64_t x_bytes, uint64_t y, uint64_t z, const CopyShape& shape) const;

 private:
  friend class MipmappedArray;

  static constinit Pool<Array, 1 << 16> pool_;

  const cuda::CUDA_ARRAY3D_DESCRIPTOR descriptor_;
  const uint64_t address_;
  const uint64_t allocation_;
  const uint64_t row_bytes_;
  const bool is_level_;
};

}  // namespace tutti::client
