// Copies in two and three dimensions, between any of host memory, device memory and arrays.
#include "client/array.h"
#include "client/context.h"
#include "client/copy.h"
#include "client/entry/entries.h"

namespace tutti::client::entry {
namespace {

// One side of CUDA's structures, which name everything twice.
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
    case CU_MEMORYTYPE_HOST:
      return LocateLinear(s, s.host, shape, SideKind::kHost);
    case CU_MEMORYTYPE_DEVICE:
      return LocateLinear(s, s.device, shape, SideKind::kDevice);
    case CU_MEMORYTYPE_UNIFIED:
      return LocateLinear(s, s.device, shape, SideKind::kAny);
    case CU_MEMORYTYPE_ARRAY:
      return LocateInArray(s, shape);
    default:
      return Refuse(CUDA_ERROR_INVALID_VALUE);
  }
}

CUresult CopySides(const Side& to, const Side& from, const CopyShape& shape, CUstream handle, CopyMode mode) {
  CU_ASSIGN(Stream* const stream, Stream::Resolve(handle));
  if (shape.empty()) return CUDA_SUCCESS;
  CU_ASSIGN(const Located destination, Locate(to, shape));
  CU_ASSIGN(const Located source, Locate(from, shape));
  return Copy(*stream, {destination.side, source.side, shape}, mode, destination.kind, source.kind);
}

CUresult Copy2D(const CUDA_MEMCPY2D* c, CUstream stream, CopyMode mode) {
  if (c == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Side to{c->dstXInBytes, c->dstY,     0, c->dstMemoryType, AddressOf(c->dstHost), c->dstDevice,
                c->dstArray,    c->dstPitch, 0};
  const Side from{c->srcXInBytes, c->srcY,     0, c->srcMemoryType, AddressOf(c->srcHost), c->srcDevice,
                  c->srcArray,    c->srcPitch, 0};
  return CopySides(to, from, {c->WidthInBytes, c->Height, 1}, stream, mode);
}

template <typename Description>
CUresult Copy3D(const Description* c, CUstream stream, CopyMode mode) {
  if (c == nullptr || c->srcLOD != 0 || c->dstLOD != 0) return CUDA_ERROR_INVALID_VALUE;
  const Side to{c->dstXInBytes, c->dstY,     c->dstZ,     c->dstMemoryType, AddressOf(c->dstHost),
                c->dstDevice,   c->dstArray, c->dstPitch, c->dstHeight};
  const Side from{c->srcXInBytes, c->srcY,     c->srcZ,     c->srcMemoryType, AddressOf(c->srcHost),
                  c->srcDevice,   c->srcArray, c->srcPitch, c->srcHeight};
  return CopySides(to, from, {c->WidthInBytes, c->Height, c->Depth}, stream, mode);
}

}  // namespace

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* copy) { return Copy2D(copy, nullptr, CopyMode::kSynchronous); }
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* copy) { return Copy2D(copy, nullptr, CopyMode::kSynchronous); }
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream stream) {
  return Copy2D(copy, stream, CopyMode::kAsynchronous);
}
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* copy) { return Copy3D(copy, nullptr, CopyMode::kSynchronous); }
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* copy, CUstream stream) {
  return Copy3D(copy, stream, CopyMode::kAsynchronous);
}
CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* copy) { return Copy3D(copy, nullptr, CopyMode::kSynchronous); }
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* copy, CUstream stream) {
  return Copy3D(copy, stream, CopyMode::kAsynchronous);
}

}  // namespace tutti::client::entry
