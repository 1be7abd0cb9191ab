#include "client/array/copy_description.h"

#include <algorithm>

#include "base/checked.h"
#include "client/array/array.h"

namespace tutti::client {
namespace {

using namespace tutti::cuda;

// One side of CUDA's structures, which have every field twice.
struct Side {
  size_t x, y, z;
  CUmemorytype type;
  uint64_t host;
  CUdeviceptr device;
  CUarray array;
  size_t pitch, height;
};

struct Located {
  CopySide side;
  SideKind kind = SideKind::kAny;
};

Answer<Located> LocateInArray(const Side& s, const CopyShape& shape) {
  const Array* array = Array::Find(s.array);
  if (array == nullptr) return Refuse(CUDA_ERROR_INVALID_HANDLE);
  if (!array->Holds(s.x, s.y, s.z, shape)) return Refuse(CUDA_ERROR_INVALID_VALUE);
  return Located{array->At(s.x, s.y, s.z), SideKind::kDevice};
}

Answer<Located> LocateLinear(const Side& s, uint64_t base, const CopyShape& shape, SideKind kind) {
  // A pitch of 0 means rows without gaps; so does a height of 0 for planes.
  const uint64_t pitch = s.pitch != 0 ? s.pitch : s.x + shape.row_bytes;
  const uint64_t height = s.height != 0 ? s.height : s.y + shape.rows;
  const bool rows_fit = shape.rows == 1 || (s.x <= pitch && shape.row_bytes <= pitch - s.x);
  const bool planes_fit = shape.planes == 1 || (s.y <= height && shape.rows <= height - s.y);
  if (base == 0 || !rows_fit || !planes_fit) return Refuse(CUDA_ERROR_INVALID_VALUE);
  uint64_t plane, skipped_planes, skipped_rows, address;
  if (__builtin_mul_overflow(pitch, height, &plane) || __builtin_mul_overflow(plane, s.z, &skipped_planes) ||
      __builtin_mul_overflow(pitch, s.y, &skipped_rows) || __builtin_add_overflow(base, skipped_planes, &address) ||
      __builtin_add_overflow(address, skipped_rows, &address) || __builtin_add_overflow(address, s.x, &address)) {
    return Refuse(CUDA_ERROR_INVALID_VALUE);
  }
  return Located{{address, pitch, plane}, kind};
}

Answer<Located> Locate(const Side& s, const CopyShape& shape) {
  switch (s.type) {
    case CU_MEMORYTYPE_HOST: return LocateLinear(s, s.host, shape, SideKind::kHost);
    case CU_MEMORYTYPE_DEVICE: return LocateLinear(s, s.device, shape, SideKind::kDevice);
    case CU_MEMORYTYPE_UNIFIED: return LocateLinear(s, s.device, shape, SideKind::kAny);
    case CU_MEMORYTYPE_ARRAY: return LocateInArray(s, shape);
    default: return Refuse(CUDA_ERROR_INVALID_VALUE);
  }
}

Answer<DescribedCopy> DescribeSides(const Side& to, const Side& from, const CopyShape& shape) {
  if (shape.empty()) return DescribedCopy{.request = {.shape = shape}};
  CU_ASSIGN_OR_REFUSE(const Located destination, Locate(to, shape));
  CU_ASSIGN_OR_REFUSE(const Located source, Locate(from, shape));
  return DescribedCopy{{destination.side, source.side, shape}, destination.kind, source.kind};
}

template <typename Description>
Answer<DescribedCopy> Describe3D(const Description& c) {
  if (c.srcLOD != 0 || c.dstLOD != 0) return Refuse(CUDA_ERROR_INVALID_VALUE);
  const Side to{c.dstXInBytes, c.dstY,     c.dstZ,     c.dstMemoryType, AddressOf(c.dstHost),
                c.dstDevice,   c.dstArray, c.dstPitch, c.dstHeight};
  const Side from{c.srcXInBytes, c.srcY,     c.srcZ,     c.srcMemoryType, AddressOf(c.srcHost),
                  c.srcDevice,   c.srcArray, c.srcPitch, c.srcHeight};
  return DescribeSides(to, from, {c.WidthInBytes, c.Height, c.Depth});
}

// Of a copy in a batch. Its lengths count elements of `bytes` bytes; none may be shorter than the copy.
Answer<Side> SideOf(const CUmemcpy3DOperand& operand, const CUDA_MEMCPY3D_BATCH_OP& copy, uint64_t bytes) {
  if (operand.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
    const auto& [array, offset] = operand.op.array;
    const auto x = CheckedMul(offset.x, bytes);
    if (!x) return Refuse(CUDA_ERROR_INVALID_VALUE);
    return Side{*x, offset.y, offset.z, CU_MEMORYTYPE_ARRAY, 0, 0, array, 0, 0};
  }
  const auto& line = operand.op.ptr;
  const auto pitch = CheckedMul(line.rowLength, bytes);
  const bool fits = (line.rowLength == 0 || line.rowLength >= copy.extent.width) &&
                    (line.layerHeight == 0 || line.layerHeight >= copy.extent.height);
  if (operand.type != CU_MEMCPY_OPERAND_TYPE_POINTER || !fits || !pitch) return Refuse(CUDA_ERROR_INVALID_VALUE);
  return Side{0, 0, 0, CU_MEMORYTYPE_UNIFIED, 0, line.ptr, nullptr, *pitch, line.layerHeight};
}

// Of the operand's array; 0 if it is none.
Answer<uint64_t> ElementBytesOf(const CUmemcpy3DOperand& operand) {
  if (operand.type != CU_MEMCPY_OPERAND_TYPE_ARRAY) return 0;
  const Array* const array = Array::Find(operand.op.array.array);
  if (array == nullptr) return Refuse(CUDA_ERROR_INVALID_HANDLE);
  return array->element_bytes();
}

}  // namespace

Answer<DescribedCopy> Describe(const CUDA_MEMCPY3D_BATCH_OP& copy) {
  CU_ASSIGN_OR_REFUSE(const uint64_t to_bytes, ElementBytesOf(copy.dst));
  CU_ASSIGN_OR_REFUSE(const uint64_t from_bytes, ElementBytesOf(copy.src));
  if (to_bytes != 0 && from_bytes != 0 && to_bytes != from_bytes) return Refuse(CUDA_ERROR_INVALID_VALUE);
  const uint64_t bytes = std::max<uint64_t>({to_bytes, from_bytes, 1});
  const auto row_bytes = CheckedMul(copy.extent.width, bytes);
  if (!row_bytes) return Refuse(CUDA_ERROR_INVALID_VALUE);
  const CopyShape shape{*row_bytes, copy.extent.height, copy.extent.depth};
  if (shape.empty()) return Refuse(CUDA_ERROR_INVALID_VALUE);
  CU_ASSIGN_OR_REFUSE(const Side to, SideOf(copy.dst, copy, bytes));
  CU_ASSIGN_OR_REFUSE(const Side from, SideOf(copy.src, copy, bytes));
  return DescribeSides(to, from, shape);
}

Answer<DescribedCopy> Describe(const CUDA_MEMCPY2D& c) {
  const Side to{c.dstXInBytes, c.dstY,     0, c.dstMemoryType, AddressOf(c.dstHost), c.dstDevice,
                c.dstArray,    c.dstPitch, 0};
  const Side from{c.srcXInBytes, c.srcY,     0, c.srcMemoryType, AddressOf(c.srcHost), c.srcDevice,
                  c.srcArray,    c.srcPitch, 0};
  return DescribeSides(to, from, {c.WidthInBytes, c.Height, 1});
}
Answer<DescribedCopy> Describe(const CUDA_MEMCPY3D& copy) { return Describe3D(copy); }
Answer<DescribedCopy> Describe(const CUDA_MEMCPY3D_PEER& copy) { return Describe3D(copy); }

CUDA_MEMCPY3D Describing(const CopyRequest& request) {
  const auto height = [](const CopySide& side) { return side.pitch != 0 ? side.plane / side.pitch : 0; };
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.srcDevice = request.source.address;
  copy.srcPitch = request.source.pitch;
  copy.srcHeight = height(request.source);
  copy.dstDevice = request.destination.address;
  copy.dstPitch = request.destination.pitch;
  copy.dstHeight = height(request.destination);
  copy.WidthInBytes = request.shape.row_bytes;
  copy.Height = request.shape.rows;
  copy.Depth = request.shape.planes;
  return copy;
}

}  // namespace tutti::client
