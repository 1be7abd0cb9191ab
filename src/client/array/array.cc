#include "client/array/array.h"

#include "base/checked.h"
#include "client/base/complaint.h"
#include "client/context/context.h"
#include "client/memory/memory.h"

namespace tutti::client {

uint64_t ChannelBytes(cuda::CUarray_format format) {
  switch (format) {
    case cuda::CU_AD_FORMAT_UNSIGNED_INT8:
    case cuda::CU_AD_FORMAT_SIGNED_INT8: return 1;
    case cuda::CU_AD_FORMAT_UNSIGNED_INT16:
    case cuda::CU_AD_FORMAT_SIGNED_INT16:
    case cuda::CU_AD_FORMAT_HALF: return 2;
    case cuda::CU_AD_FORMAT_UNSIGNED_INT32:
    case cuda::CU_AD_FORMAT_SIGNED_INT32:
    case cuda::CU_AD_FORMAT_FLOAT: return 4;
    default: return 0;
  }
}

namespace {

bool IsCubeMap(const cuda::CUDA_ARRAY3D_DESCRIPTOR& shape) { return (shape.Flags & cuda::CUDA_ARRAY3D_CUBEMAP) != 0; }

// Six layers are the faces of a cube; only with CUDA_ARRAY3D_LAYERED there may be several.
bool IsCube(const cuda::CUDA_ARRAY3D_DESCRIPTOR& shape) {
  const bool layered = (shape.Flags & cuda::CUDA_ARRAY3D_LAYERED) != 0;
  return shape.Width == shape.Height && shape.Depth != 0 && (layered ? shape.Depth % 6 == 0 : shape.Depth == 6);
}

}  // namespace

constinit Pool<Array, 1 << 16> Array::pool_;

Answer<Array*> Array::Create(Context& context, const cuda::CUDA_ARRAY3D_DESCRIPTOR& descriptor, bool is_level) {
  if (context.device().Has(wire::kDeviceNoArrays))
    return Refuse(Complain(cuda::CUDA_ERROR_NOT_SUPPORTED, "arrays are not supported on a GPU yet"));
  const uint64_t channel = ChannelBytes(descriptor.Format);
  const unsigned channels = descriptor.NumChannels;
  if (channel == 0 || descriptor.Width == 0 || (channels != 1 && channels != 2 && channels != 4)) {
    return Refuse(cuda::CUDA_ERROR_INVALID_VALUE);
  }
  if (IsCubeMap(descriptor) && !IsCube(descriptor)) return Refuse(cuda::CUDA_ERROR_INVALID_VALUE);
  const auto row = CheckedMul<uint64_t>(descriptor.Width, channel * channels);
  const auto plane = row ? CheckedMul<uint64_t>(*row, descriptor.Height == 0 ? 1 : descriptor.Height) : std::nullopt;
  const auto bytes = plane ? CheckedMul<uint64_t>(*plane, descriptor.Depth == 0 ? 1 : descriptor.Depth) : std::nullopt;
  if (!bytes) return Refuse(cuda::CUDA_ERROR_INVALID_VALUE);
  CU_ASSIGN_OR_REFUSE(const uint64_t address, Allocate(context, AllocationKind::kArray, *bytes));
  Array* array = pool_.Create(descriptor, address, *row, is_level);
  return array != nullptr ? Answer<Array*>(array) : Refuse(cuda::CUDA_ERROR_OUT_OF_MEMORY);
}

int Array::Destroy(Array* array) {
  return array->is_level_ ? static_cast<int>(cuda::CUDA_ERROR_INVALID_VALUE) : Free(array);
}

int Array::Free(Array* array) {
  if (!pool_.Retire(array)) return cuda::CUDA_ERROR_INVALID_HANDLE;
  const auto taken = AllocationTable::Get().Take(array->address_,
                                                 [](const Allocation& a) { return a.kind == AllocationKind::kArray; });
  if (taken) ReturnMemory(*taken);
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
