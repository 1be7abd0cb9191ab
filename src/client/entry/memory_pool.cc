// Memory pools and stream-ordered allocation.
#include "client/memory/memory_pool.h"

#include <cstring>

#include "client/base/complaint.h"
#include "client/context/context.h"
#include "client/context/current.h"
#include "client/context/stream.h"
#include "client/entry/called_stream.h"
#include "client/entry/entries.h"
#include "client/entry/graph_memory.h"
#include "client/memory/ipc_memory.h"

namespace tutti::client::entry {
namespace {

CUresult AllocateFrom(CUdeviceptr* out, size_t bytes, MemoryPool* pool, Stream& stream) {
  if (out == nullptr || pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (stream.capture() != nullptr) return CaptureAllocation(out, bytes, pool->device(), stream);
  CU_ASSIGN(const uint64_t address, pool->Allocate(stream, bytes));
  *out = address;
  return CUDA_SUCCESS;
}

CUresult GivePool(CUmemoryPool* out, CUdevice ordinal, MemoryPool* (*of)(Device&)) {
  Device* device = Device::Find(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = of(*device)->handle();
  return CUDA_SUCCESS;
}

CUresult CheckLocation(const CUmemLocation* location, int type) {
  if (location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const bool have = location->type == CU_MEM_LOCATION_TYPE_DEVICE && type == CU_MEM_ALLOCATION_TYPE_PINNED;
  return have ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace

CUresult cuMemAllocAsync(CUdeviceptr* out, size_t bytes, CUstream handle) {
  CU_ASSIGN(Stream* const stream, StreamOf(handle));
  return AllocateFrom(out, bytes, MemoryPool::CurrentOf(stream->context().device()), *stream);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* out, size_t bytes, CUmemoryPool pool, CUstream handle) {
  CU_ASSIGN(Stream* const stream, StreamOf(handle));
  return AllocateFrom(out, bytes, MemoryPool::Find(pool), *stream);
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
  CU_ASSIGN(Stream* const stream, StreamOf(handle));
  if (address == 0) return CUDA_SUCCESS;
  if (stream->capture() != nullptr) return CaptureFree(*stream, address);
  return MemoryPool::Free(*stream, address);
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* out, CUdevice device) {
  return GivePool(out, device, &MemoryPool::DefaultOf);
}
CUresult cuDeviceGetMemPool(CUmemoryPool* out, CUdevice device) {
  return GivePool(out, device, &MemoryPool::CurrentOf);
}

CUresult cuDeviceSetMemPool(CUdevice ordinal, CUmemoryPool handle) {
  Device* device = Device::Find(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  MemoryPool* pool = MemoryPool::Find(handle);
  if (pool == nullptr || &pool->device() != device) return CUDA_ERROR_INVALID_VALUE;
  MemoryPool::SetCurrentOf(*device, pool);
  return CUDA_SUCCESS;
}

// The same by location; pools hold pinned memory of devices only.
CUresult cuMemGetDefaultMemPool(CUmemoryPool* out, CUmemLocation* location, int type) {
  CU_TRY(CheckLocation(location, type));
  return cuDeviceGetDefaultMemPool(out, location->id);
}
CUresult cuMemGetMemPool(CUmemoryPool* out, CUmemLocation* location, int type) {
  CU_TRY(CheckLocation(location, type));
  return cuDeviceGetMemPool(out, location->id);
}
CUresult cuMemSetMemPool(CUmemLocation* location, int type, CUmemoryPool pool) {
  CU_TRY(CheckLocation(location, type));
  return cuDeviceSetMemPool(location->id, pool);
}

CUresult cuMemPoolCreate(CUmemoryPool* out, const CUmemPoolProps* properties) {
  if (out == nullptr || properties == nullptr || properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
    return CUDA_ERROR_INVALID_VALUE;
  if ((properties->handleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  Device* device = Device::Find(properties->location.id);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  MemoryPool* pool = MemoryPool::Create(*device, properties->maxSize, properties->handleTypes != 0);
  if (pool == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = pool->handle();
  return CUDA_SUCCESS;
}

// A pool's descriptor only says which one it is: its allocations are exported one by one.
CUresult cuMemPoolExportToShareableHandle(void* out, CUmemoryPool handle, int type, unsigned long long flags) {
  const MemoryPool* const pool = MemoryPool::Find(handle);
  if (out == nullptr || pool == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  if (pool->number() == 0 || pool->imported()) {
    return Complain(CUDA_ERROR_INVALID_VALUE,
                    "exporting a memory pool that was not created here with handleTypes = "
                    "CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR");
  }
  CU_ASSIGN(os::Fd descriptor, DescribePool(pool->number()));
  *static_cast<int*>(out) = descriptor.Release();
  return CUDA_SUCCESS;
}

CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool* out, void* descriptor, int type, unsigned long long flags) {
  if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  CU_ASSIGN(const wire::ShareHandle said, ReadDescriptor(static_cast<int>(reinterpret_cast<uintptr_t>(descriptor))));
  if (said.kind != wire::ShareKind::kPool || said.pool == 0) return CUDA_ERROR_INVALID_VALUE;
  const auto context = CurrentContext();
  Device& device = context ? (*context)->device() : *Device::Find(0);
  MemoryPool* const pool = MemoryPool::Import(device, said.pool);
  if (pool == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = pool->handle();
  return CUDA_SUCCESS;
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData* out, CUdeviceptr address) {
  const auto found = AllocationTable::Get().Find(address);
  if (out == nullptr || !found || found->kind != AllocationKind::kPool) return CUDA_ERROR_INVALID_VALUE;
  const MemoryPool* const pool = MemoryPool::Find(reinterpret_cast<const void*>(found->pool));
  if (pool == nullptr || pool->number() == 0) {
    return Complain(CUDA_ERROR_INVALID_VALUE, "memory at {:#x}: its pool was not created to be shared", address);
  }
  CU_ASSIGN(const wire::ExportedMemory memory, IpcMemory::Get().Export(address, AllocationKind::kPool));
  const wire::ShareHandle said{.kind = wire::ShareKind::kPoolMemory, .memory = memory, .pool = pool->number()};
  std::memcpy(out, &said, sizeof said);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolImportPointer(CUdeviceptr* out, CUmemoryPool handle, CUmemPoolPtrExportData* data) {
  const MemoryPool* const pool = MemoryPool::Find(handle);
  if (out == nullptr || pool == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(const wire::ShareHandle said, CheckHandle(data, wire::ShareKind::kPoolMemory));
  if (!pool->imported() || said.pool != pool->number())
    return Complain(CUDA_ERROR_INVALID_VALUE, "importing memory of another pool than the one it is imported into");
  CU_ASSIGN(Context* const context, UsableContext());
  CU_ASSIGN(*out, IpcMemory::Get().Open(*context, said.memory));
  return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool handle) {
  MemoryPool* pool = MemoryPool::Find(handle);
  return pool != nullptr ? MemoryPool::Destroy(pool) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t) {
  return MemoryPool::Find(pool) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  MemoryPool* pool = MemoryPool::Find(handle);
  return pool != nullptr && value != nullptr ? pool->SetAttribute(attribute, value) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  MemoryPool* pool = MemoryPool::Find(handle);
  return pool != nullptr && value != nullptr ? pool->GetAttribute(attribute, value) : CUDA_ERROR_INVALID_VALUE;
}

// Every device reaches all memory.
CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc* access, size_t count) {
  return MemoryPool::Find(handle) != nullptr && (access != nullptr || count == 0) ? CUDA_SUCCESS
                                                                                  : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool handle, CUmemLocation* location) {
  if (flags == nullptr || location == nullptr || MemoryPool::Find(handle) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = 3;  // read and write
  return CUDA_SUCCESS;
}

}  // namespace tutti::client::entry
