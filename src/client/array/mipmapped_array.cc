#include "client/array/mipmapped_array.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace tutti::client {
namespace {

size_t Halved(size_t extent, unsigned level) { return extent == 0 ? 0 : std::max<size_t>(extent >> level, 1); }

bool HasLayers(const cuda::CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
  return (descriptor.Flags & (cuda::CUDA_ARRAY3D_LAYERED | cuda::CUDA_ARRAY3D_CUBEMAP)) != 0;
}

}  // namespace

constinit Pool<MipmappedArray, 1 << 14> MipmappedArray::pool_;

MipmappedArray::MipmappedArray(Array* const (&levels)[kMostLevels], unsigned count) : count_(count) {
  std::copy_n(levels, count, levels_);
}

Answer<MipmappedArray*> MipmappedArray::Create(Context& context, const cuda::CUDA_ARRAY3D_DESCRIPTOR& descriptor,
                                               unsigned levels) {
  const size_t longest =
      std::max({descriptor.Width, descriptor.Height, HasLayers(descriptor) ? size_t{0} : descriptor.Depth});
  if (longest > kMostTexels) return Refuse(cuda::CUDA_ERROR_INVALID_VALUE);
  const unsigned count = std::clamp(levels, 1u, std::max(1u, static_cast<unsigned>(std::bit_width(longest))));
  Array* made[kMostLevels] = {};
  const auto undo = [&made](int error) {
    for (Array* array : made) {
      if (array != nullptr) Array::Free(array);
    }
    return Refuse(error);
  };
  for (unsigned i = 0; i < count; ++i) {
    cuda::CUDA_ARRAY3D_DESCRIPTOR shape = descriptor;
    shape.Width = Halved(shape.Width, i);
    shape.Height = Halved(shape.Height, i);
    if (!HasLayers(descriptor)) shape.Depth = Halved(shape.Depth, i);
    const Answer<Array*> level = Array::Create(context, shape, true);
    if (!level) return undo(level.error());
    made[i] = *level;
  }
  MipmappedArray* array = pool_.Create(made, count);
  if (array == nullptr) return undo(cuda::CUDA_ERROR_OUT_OF_MEMORY);
  return array;
}

int MipmappedArray::Destroy(MipmappedArray* array) {
  if (!pool_.Retire(array)) return cuda::CUDA_ERROR_INVALID_HANDLE;
  int result = cuda::CUDA_SUCCESS;
  for (unsigned i = 0; i < array->count_; ++i) {
    const int freed = Array::Free(array->levels_[i]);
    if (result == cuda::CUDA_SUCCESS) result = freed;
  }
  pool_.Delete(array);
  return result;
}

}  // namespace tutti::client
