// Mipmapped arrays: one array per level, each half as large as the one before, one behind the other.
#pragma once

#include <cstdint>
#include <span>

#include "client/array/array.h"
#include "client/base/answer.h"
#include "client/base/pool.h"
#include "cuda/types.h"
#include "guest/texture.h"

namespace tutti::client {

struct ArrayMemory;

// Immutable, so thread-safe.
class MipmappedArray {
 public:
  static constexpr unsigned kMostLevels = guest::kMostLevels;
  static constexpr uint64_t kMostTexels = uint64_t{1} << (kMostLevels - 1);  // of an axis that is halved

  MipmappedArray(Array* const (&levels)[kMostLevels], unsigned count);

  static MipmappedArray* Find(const void* handle) { return pool_.Find(handle); }
  // As many levels as asked for, at least one and at most until each axis has one texel. INVALID_VALUE for shapes and
  // formats that arrays do not have, and for more than kMostTexels.
  static Answer<MipmappedArray*> Create(Context& context, const cuda::CUDA_ARRAY3D_DESCRIPTOR& descriptor,
                                        unsigned levels);
  // INVALID_HANDLE if another thread was first.
  static int Destroy(MipmappedArray* array);

  cuda::CUmipmappedArray handle() { return reinterpret_cast<cuda::CUmipmappedArray>(this); }
  unsigned levels() const { return count_; }
  // `number` < levels().
  Array* level(unsigned number) const { return levels_[number]; }

 private:
  // False: there is no room for all of them.
  static bool MakeLevels(const cuda::CUDA_ARRAY3D_DESCRIPTOR& descriptor, const ArrayMemory& memory,
                         std::span<Array*> levels);
  static void EndLevels(std::span<Array* const> levels);

  static constinit Pool<MipmappedArray, 1 << 14> pool_;

  Array* levels_[kMostLevels] = {};
  unsigned count_ = 0;
};

}  // namespace tutti::client
