// One-dimensional copies. Those in two and three dimensions are in copy_3d.cc.
#include "client/copy/copy.h"

#include "client/array/array.h"
#include "client/context/context.h"
#include "client/entry/called_stream.h"
#include "client/entry/copy_or_capture.h"
#include "client/entry/entries.h"

namespace tutti::client::entry {
namespace {

constexpr auto kSync = CopyMode::kSynchronous;
constexpr auto kAsync = CopyMode::kAsynchronous;
constexpr auto kHost = SideKind::kHost;
constexpr auto kDevice = SideKind::kDevice;
constexpr auto kAny = SideKind::kAny;

CUresult CopyLinear(CUstream handle, CopyMode mode, uint64_t to, SideKind to_kind, uint64_t from, SideKind from_kind,
                    size_t bytes) {
  CU_ASSIGN(Stream* const stream, StreamOf(handle));
  return CopyOrCapture(*stream, Linear(to, from, bytes), mode, to_kind, from_kind);
}

// The address of a byte of a one-dimensional array; INVALID_VALUE if the copy would leave it.
Answer<uint64_t> InArray(CUarray handle, size_t offset, size_t bytes) {
  const Array* array = Array::Find(handle);
  if (array == nullptr) return Refuse(CUDA_ERROR_INVALID_HANDLE);
  if (!array->Holds(offset, 0, 0, {bytes, 1, 1})) return Refuse(CUDA_ERROR_INVALID_VALUE);
  return array->At(offset, 0, 0).address;
}

bool AreContexts(CUcontext a, CUcontext b) { return Context::Find(a) != nullptr && Context::Find(b) != nullptr; }

}  // namespace

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return CopyLinear(nullptr, kSync, to, kAny, from, kAny, bytes);
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return CopyLinear(stream, kAsync, to, kAny, from, kAny, bytes);
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
  return CopyLinear(nullptr, kSync, to, kDevice, AddressOf(from), kHost, bytes);
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return CopyLinear(stream, kAsync, to, kDevice, AddressOf(from), kHost, bytes);
}
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
  return CopyLinear(nullptr, kSync, AddressOf(to), kHost, from, kDevice, bytes);
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return CopyLinear(stream, kAsync, AddressOf(to), kHost, from, kDevice, bytes);
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return CopyLinear(nullptr, kSync, to, kDevice, from, kDevice, bytes);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return CopyLinear(stream, kAsync, to, kDevice, from, kDevice, bytes);
}

// All devices' memory is in one window: the contexts need only exist.
CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes) {
  return AreContexts(to_context, from_context) ? cuMemcpyDtoD_v2(to, from, bytes) : CUDA_ERROR_INVALID_CONTEXT;
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes,
                           CUstream stream) {
  return AreContexts(to_context, from_context) ? cuMemcpyDtoDAsync_v2(to, from, bytes, stream)
                                               : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuMemcpyDtoA_v2(CUarray array, size_t offset, CUdeviceptr from, size_t bytes) {
  CU_ASSIGN(const uint64_t to, InArray(array, offset, bytes));
  return cuMemcpyDtoD_v2(to, from, bytes);
}
CUresult cuMemcpyAtoD_v2(CUdeviceptr to, CUarray array, size_t offset, size_t bytes) {
  CU_ASSIGN(const uint64_t from, InArray(array, offset, bytes));
  return cuMemcpyDtoD_v2(to, from, bytes);
}
CUresult cuMemcpyHtoA_v2(CUarray array, size_t offset, const void* from, size_t bytes) {
  CU_ASSIGN(const uint64_t to, InArray(array, offset, bytes));
  return cuMemcpyHtoD_v2(to, from, bytes);
}
CUresult cuMemcpyHtoAAsync_v2(CUarray array, size_t offset, const void* from, size_t bytes, CUstream stream) {
  CU_ASSIGN(const uint64_t to, InArray(array, offset, bytes));
  return cuMemcpyHtoDAsync_v2(to, from, bytes, stream);
}
CUresult cuMemcpyAtoH_v2(void* to, CUarray array, size_t offset, size_t bytes) {
  CU_ASSIGN(const uint64_t from, InArray(array, offset, bytes));
  return cuMemcpyDtoH_v2(to, from, bytes);
}
CUresult cuMemcpyAtoHAsync_v2(void* to, CUarray array, size_t offset, size_t bytes, CUstream stream) {
  CU_ASSIGN(const uint64_t from, InArray(array, offset, bytes));
  return cuMemcpyDtoHAsync_v2(to, from, bytes, stream);
}
CUresult cuMemcpyAtoA_v2(CUarray to_array, size_t to_offset, CUarray from_array, size_t from_offset, size_t bytes) {
  CU_ASSIGN(const uint64_t to, InArray(to_array, to_offset, bytes));
  CU_ASSIGN(const uint64_t from, InArray(from_array, from_offset, bytes));
  return cuMemcpyDtoD_v2(to, from, bytes);
}

}  // namespace tutti::client::entry
