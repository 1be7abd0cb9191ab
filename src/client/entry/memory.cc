// Memory: allocation, host memory, pointer queries.
#include "client/memory/memory.h"

#include <cstring>

#include "client/context/context.h"
#include "client/context/current.h"
#include "client/context/device.h"
#include "client/context/stream.h"
#include "client/copy/host_registration.h"
#include "client/entry/called_stream.h"
#include "client/entry/entries.h"
#include "client/graph/capture.h"

namespace tutti::client::entry {
namespace {

constexpr size_t kPitchAlignment = 512;

CUresult StoreAddress(CUdeviceptr* out, const Answer<uint64_t>& address) {
  if (!address) return address.error();
  *out = *address;
  return CUDA_SUCCESS;
}

CUresult AllocateHost(void** out, size_t bytes, unsigned flags) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Context* const context, UsableContext());
  CU_TRY(Capture::CheckUnsafe("host memory allocation"));
  CU_ASSIGN(const uint64_t address, Allocate(*context, AllocationKind::kHost, bytes, flags));
  *out = reinterpret_cast<void*>(address);
  return CUDA_SUCCESS;
}

uint64_t Address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

}  // namespace

CUresult cuMemAlloc_v2(CUdeviceptr* out, size_t bytes) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Context* const context, UsableContext());
  CU_TRY(Capture::CheckUnsafe("cuMemAlloc"));
  return StoreAddress(out, Allocate(*context, AllocationKind::kDevice, bytes));
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* out, size_t* pitch, size_t width, size_t height, unsigned int element_bytes) {
  const bool element = element_bytes == 4 || element_bytes == 8 || element_bytes == 16;
  if (pitch == nullptr || !element || width == 0 || width > SIZE_MAX - kPitchAlignment) return CUDA_ERROR_INVALID_VALUE;
  const size_t row = (width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
  size_t bytes;
  if (__builtin_mul_overflow(row, height, &bytes)) return CUDA_ERROR_INVALID_VALUE;
  CU_TRY(cuMemAlloc_v2(out, bytes));
  *pitch = row;
  return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr address) {
  if (address == 0) return CUDA_SUCCESS;
  CU_ASSIGN(Context* const context, UsableContext());
  CU_TRY(Capture::CheckUnsafe("cuMemFree"));
  static_cast<void>(context);
  return FreeDeviceMemory(address);
}

CUresult cuMemAllocManaged(CUdeviceptr* out, size_t bytes, unsigned int flags) {
  if (out == nullptr || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Context* const context, UsableContext());
  CU_TRY(Capture::CheckUnsafe("cuMemAllocManaged"));
  return StoreAddress(out, Allocate(*context, AllocationKind::kManaged, bytes, flags));
}

CUresult cuMemAllocHost_v2(void** out, size_t bytes) { return AllocateHost(out, bytes, 0); }

CUresult cuMemHostAlloc(void** out, size_t bytes, unsigned int flags) {
  constexpr unsigned kKnown = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
  return (flags & ~kKnown) == 0 ? AllocateHost(out, bytes, flags) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemFreeHost(void* pointer) {
  if (pointer == nullptr) return CUDA_SUCCESS;
  CU_ASSIGN(Context* const context, UsableContext());
  CU_TRY(Capture::CheckUnsafe("cuMemFreeHost"));
  static_cast<void>(context);
  return FreeHostMemory(Address(pointer));
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* out, void* pointer, unsigned int flags) {
  if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Context* const context, UsableContext());
  static_cast<void>(context);
  return StoreAddress(out, DeviceAddressOf(Address(pointer)));
}

CUresult cuMemHostGetFlags(unsigned int* flags, void* pointer) {
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto found = AllocationTable::Get().Find(Address(pointer));
  if (!found || !found->on_host()) return CUDA_ERROR_INVALID_VALUE;
  *flags = found->flags;
  return CUDA_SUCCESS;
}

CUresult cuMemHostRegister_v2(void* pointer, size_t bytes, unsigned int flags) {
  constexpr unsigned kKnown = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY;
  if ((flags & CU_MEMHOSTREGISTER_IOMEMORY) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  if ((flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Context* const context, UsableContext());
  CU_TRY(Capture::CheckUnsafe("cuMemHostRegister"));
  return RegisterHost(*context, Address(pointer), bytes, flags);
}

// Works in a failed context, too: whatever the result, the program frees the memory next.
CUresult cuMemHostUnregister(void* pointer) {
  CU_ASSIGN(const Context* const context, CurrentContext());
  CU_TRY(Capture::CheckUnsafe("cuMemHostUnregister"));
  const int unregistered = pointer != nullptr ? UnregisterHost(Address(pointer)) : CUDA_ERROR_INVALID_VALUE;
  const int failed = context->Check();
  return failed != 0 ? failed : unregistered;
}

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  CU_ASSIGN(Context* const context, UsableContext());
  AwaitFrees();
  if (free != nullptr) *free = context->device().free_bytes();
  if (total != nullptr) *total = context->device().total_bytes();
  return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
  const auto found = AllocationTable::Get().Find(address);
  if (!found || found->kind == AllocationKind::kRegistered) return CUDA_ERROR_NOT_FOUND;
  if (base != nullptr) *base = found->address;
  if (bytes != nullptr) *bytes = found->bytes;
  return CUDA_SUCCESS;
}

// Managed memory has one location that every device reaches: placement hints are accepted without effect.
CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice, CUstream handle) {
  CU_ASSIGN(Stream* const stream, StreamOf(handle));
  static_cast<void>(stream);
  return AllocationTable::Get().Covers(address, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation location, unsigned int flags,
                               CUstream stream) {
  return flags == 0 ? cuMemPrefetchAsync(address, bytes, location.id, stream) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice) {
  if (advice < 1 || advice > 6) return CUDA_ERROR_INVALID_VALUE;
  return AllocationTable::Get().Covers(address, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation location) {
  return cuMemAdvise(address, bytes, advice, location.id);
}

// No advice is stored: not read-mostly, and (-2) no preferred or last location.
CUresult cuMemRangeGetAttribute(void* data, size_t data_bytes, CUmem_range_attribute attribute, CUdeviceptr address,
                                size_t bytes) {
  constexpr int kNowhere = -2;
  const bool known = attribute >= CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY && attribute <= 8;
  if (data == nullptr || data_bytes < sizeof(int) || data_bytes % sizeof(int) != 0 || !known)
    return CUDA_ERROR_INVALID_VALUE;
  if (!AllocationTable::Get().Covers(address, bytes)) return CUDA_ERROR_INVALID_VALUE;
  const int value = attribute == CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY ? 0 : kNowhere;
  for (size_t i = 0; i < data_bytes / sizeof(int); ++i) static_cast<int*>(data)[i] = value;
  return CUDA_SUCCESS;
}

CUresult cuMemRangeGetAttributes(void** data, size_t* sizes, CUmem_range_attribute* attributes, size_t count,
                                 CUdeviceptr address, size_t bytes) {
  if (data == nullptr || sizes == nullptr || attributes == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) CU_TRY(cuMemRangeGetAttribute(data[i], sizes[i], attributes[i], address, bytes));
  return CUDA_SUCCESS;
}

}  // namespace tutti::client::entry
