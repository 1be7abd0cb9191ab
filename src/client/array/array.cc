#include "client/array/array.h"

#include "base/checked.h"
#include "client/array/array_memory.h"

namespace tutti::client {

constinit Pool<Array, 1 << 16> Array::pool_;

Answer<Array*> Array::Create(Context& context, const cuda::CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
  CU_ASSIGN_OR_REFUSE(const ArrayMemory memory, AllocateArray(context, descriptor, 1, false));
  Array* const array =
      pool_.Create(descriptor, memory.address, memory.allocation, memory.layout.Level(0).row_bytes, false);
  if (array != nullptr) return array;
  FreeArray(memory.address, memory.allocation);
  return Refuse(cuda::CUDA_ERROR_OUT_OF_MEMORY);
}

int Array::Destroy(Array* array) {
  if (array->is_level_) return cuda::CUDA_ERROR_INVALID_VALUE;
  if (!pool_.Retire(array)) return cuda::CUDA_ERROR_INVALID_HANDLE;
  FreeArray(array->address_, array->allocation_);
  pool_.Delete(array);
  return cuda::CUDA_SUCCESS;
}

CopySide Array::At(uint64_t x_bytes, uint64_t y, uint64_t z) const {
  const uint64_t plane = row_bytes_ * rows();
  return {address_ + z * plane + y * row_bytes_ + x_bytes, row_bytes_, plane};
}

bool Array::Holds(uint64_t x_bytes, uint64_t y, uint64_t z, const CopyShape& shape) const {
  return InRange(x_bytes, shape.row_bytes, row_bytes_) && InRange(y, shape.rows, rows()) &&
         InRange(z, shape.planes, planes());
}

}  // namespace tutti::client
