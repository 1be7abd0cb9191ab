// Pointer attributes.
#include <cstring>

#include "client/context/context.h"
#include "client/context/device.h"
#include "client/entry/entries.h"
#include "client/memory/allocation_table.h"
#include "client/memory/memory_pool.h"
#include "client/memory/virtual_memory.h"
#include "client/session/attachment.h"

namespace tutti::client::entry {
namespace {

template <typename T>
CUresult StoreValue(void* data, T value) {
  std::memcpy(data, &value, sizeof value);
  return CUDA_SUCCESS;
}

// The address of the same memory in host or device code; 0 if that code cannot access it.
uint64_t Translated(const Allocation& a, uint64_t address, uint64_t base) {
  return base == 0 ? 0 : base + (address - a.address);
}

unsigned MemoryType(const Allocation& a) {
  return static_cast<unsigned>(a.on_host() ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
}

// Whether other processes have the same server.
bool SharesMemory() { return Attachment::Get().header().shared_server != 0; }

unsigned long long HandleTypes(uint64_t address, const Allocation& a) {
  if (a.kind == AllocationKind::kVirtual) return VirtualMemory::Get().HandleTypesAt(address);
  const MemoryPool* const pool = MemoryPool::Find(reinterpret_cast<const void*>(a.pool));
  return pool != nullptr && pool->number() != 0 ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : 0;
}

CUresult Attribute(void* data, CUpointer_attribute attribute, const Allocation& a, uint64_t address) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: return StoreValue(data, reinterpret_cast<uint64_t>(a.context->handle()));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: return StoreValue(data, MemoryType(a));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: {
      const uint64_t translated = Translated(a, address, a.device_address);
      return translated != 0 ? StoreValue(data, translated) : CUDA_ERROR_INVALID_VALUE;
    }
    case CU_POINTER_ATTRIBUTE_HOST_POINTER: {
      const uint64_t translated = Translated(a, address, a.host_address);
      return translated != 0 ? StoreValue(data, translated) : CUDA_ERROR_INVALID_VALUE;
    }
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: return StoreValue(data, unsigned{a.sync_memops});
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID: return StoreValue(data, static_cast<unsigned long long>(a.id));
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: return StoreValue(data, unsigned{a.kind == AllocationKind::kManaged});
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return StoreValue(data, a.context->device().ordinal());
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR: return StoreValue(data, a.address);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE: return StoreValue(data, static_cast<size_t>(a.bytes));
    case CU_POINTER_ATTRIBUTE_MAPPED: return StoreValue(data, unsigned{1});
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: return StoreValue(data, unsigned{3});  // read and write
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: return StoreValue(data, a.pool);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: return StoreValue(data, HandleTypes(address, a));
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return StoreValue(data, unsigned{a.kind == AllocationKind::kDevice && SharesMemory()});
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE: return StoreValue(data, unsigned{0});
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

// cuPointerGetAttributes for memory unknown to CUDA: zeros, and no device.
CUresult Unknown(void* data, CUpointer_attribute attribute) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: return StoreValue(data, uint64_t{0});
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return StoreValue(data, int{-2});
    default:
      return attribute > 0 && attribute <= CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE ? StoreValue(data, unsigned{0})
                                                                                         : CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
  if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto found = AllocationTable::Get().Find(address);
  if (found) return Attribute(data, attribute, *found, address);
  if (attribute == CU_POINTER_ATTRIBUTE_MAPPED) return StoreValue(data, unsigned{0});
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute* attributes, void** data, CUdeviceptr address) {
  if (count == 0 || attributes == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto found = AllocationTable::Get().Find(address);
  for (unsigned i = 0; i < count; ++i) {
    if (data[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (found && Attribute(data[i], attributes[i], *found, address) == CUDA_SUCCESS) continue;
    CU_TRY(Unknown(data[i], attributes[i]));
  }
  return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  if (value == nullptr || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) return CUDA_ERROR_INVALID_VALUE;
  const bool on = *static_cast<const unsigned*>(value) != 0;
  const bool known = AllocationTable::Get().Update(address, [on](Allocation& a) { a.sync_memops = on; });
  return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace tutti::client::entry
