#include "client/array/mipmapped_array.h"

#include <algorithm>
#include <bit>

#include "client/array/array_memory.h"

namespace tutti::client {
namespace {

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
  CU_ASSIGN_OR_REFUSE(const ArrayMemory memory, AllocateArray(context, descriptor, count, true));
  Array* made[kMostLevels] = {};
  MipmappedArray* array = nullptr;
  if (MakeLevels(descriptor, memory, {made, count})) array = pool_.Create(made, count);
  if (array != nullptr) return array;
  EndLevels({made, count});
  FreeArray(memory.address, memory.allocation);
  return Refuse(cuda::CUDA_ERROR_OUT_OF_MEMORY);
}

bool MipmappedArray::MakeLevels(const cuda::CUDA_ARRAY3D_DESCRIPTOR& descriptor, const ArrayMemory& memory,
                                std::span<Array*> levels) {
  for (unsigned i = 0; i < levels.size(); ++i) {
    const wire::ArrayLevel level = memory.layout.Level(i);
    cuda::CUDA_ARRAY3D_DESCRIPTOR shape = descriptor;
    shape.Width = level.width;
    shape.Height = level.height;
    shape.Depth = level.depth;
    levels[i] = Array::pool_.Create(shape, memory.address + level.begin, memory.allocation, level.row_bytes, true);
    if (levels[i] == nullptr) return false;
  }
  return true;
}

void MipmappedArray::EndLevels(std::span<Array* const> levels) {
  for (Array* const level : levels) {
    if (level != nullptr && Array::pool_.Retire(level)) Array::pool_.Delete(level);
  }
}

int MipmappedArray::Destroy(MipmappedArray* array) {
  if (!pool_.Retire(array)) return cuda::CUDA_ERROR_INVALID_HANDLE;
  const uint64_t address = array->levels_[0]->address_, allocation = array->levels_[0]->allocation_;
  EndLevels({array->levels_, array->count_});
  FreeArray(address, allocation);
  pool_.Delete(array);
  return cuda::CUDA_SUCCESS;
}

}  // namespace tutti::client
