// Virtual memory management: separate allocation of memory and addresses.
#include "client/memory/virtual_memory.h"

#include <span>

#include "client/base/complaint.h"
#include "client/context/context.h"
#include "client/context/device.h"
#include "client/entry/entries.h"
#include "client/session/attachment.h"

namespace tutti::client::entry {
namespace {

bool OnHost(int type) {
  return type == CU_MEM_LOCATION_TYPE_HOST || type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
         type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

// The device on which memory is requested; for memory of the host, which is no device's, the first. The log names
// unsupported properties.
Answer<Device*> Wanted(const CUmemAllocationProp* properties) {
  if (properties == nullptr || properties->type != CU_MEM_ALLOCATION_TYPE_PINNED)
    return Refuse(CUDA_ERROR_INVALID_VALUE);
  const bool on_host = OnHost(properties->location.type);
  if (!on_host && properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
    return Refuse(Complain(CUDA_ERROR_NOT_SUPPORTED, "cuMemCreate at location type {}: devices and the host only",
                           properties->location.type));
  }
  Device* const device = Device::Find(on_host ? 0 : properties->location.id);
  if (device == nullptr) return Refuse(CUDA_ERROR_INVALID_DEVICE);
  // Programs request exportable memory long before they export any, or without ever doing so.
  if ((properties->requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0)
    return Refuse(CUDA_ERROR_NOT_SUPPORTED);
  return device;
}

}  // namespace

CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* properties, int option) {
  if (granularity == nullptr || option < 0 || option > 1) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Device* const device, Wanted(properties));
  static_cast<void>(device);
  *granularity = VirtualMemory::kGranularity;
  return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* out, size_t bytes, const CUmemAllocationProp* properties,
                     unsigned long long flags) {
  if (out == nullptr || flags != 0 || bytes == 0 || bytes % VirtualMemory::kGranularity != 0)
    return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Device* const device, Wanted(properties));
  CU_ASSIGN(PhysicalMemory* const memory, OnHost(properties->location.type)
                                              ? PhysicalMemory::CreateOnHost(*device, bytes, *properties)
                                              : PhysicalMemory::Create(*device, bytes, *properties));
  *out = memory->handle();
  return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  PhysicalMemory* const memory = PhysicalMemory::Find(handle);
  if (memory == nullptr) return CUDA_ERROR_INVALID_VALUE;
  VirtualMemory::Get().Release(*memory);
  return CUDA_SUCCESS;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* out, void* address) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(PhysicalMemory* const memory, VirtualMemory::Get().Retain(reinterpret_cast<uint64_t>(address)));
  *out = memory->handle();
  return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties, CUmemGenericAllocationHandle handle) {
  const PhysicalMemory* const memory = PhysicalMemory::Find(handle);
  if (memory == nullptr || properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *properties = memory->properties();
  return CUDA_SUCCESS;
}

CUresult cuMemExportToShareableHandle(void* out, CUmemGenericAllocationHandle handle, int type,
                                      unsigned long long flags) {
  const PhysicalMemory* const memory = PhysicalMemory::Find(handle);
  if (out == nullptr || memory == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  if (memory->properties().requestedHandleTypes != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    return Complain(CUDA_ERROR_INVALID_VALUE,
                    "exporting memory that was created without requestedHandleTypes = "
                    "CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR");
  }
  CU_ASSIGN(const wire::ExportedMemory name, memory->Name());
  CU_ASSIGN(os::Fd descriptor, DescribeMemory(name));
  *static_cast<int*>(out) = descriptor.Release();
  return CUDA_SUCCESS;
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* out, void* descriptor, int type) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  const int fd = static_cast<int>(reinterpret_cast<uintptr_t>(descriptor));
  if (MayImportFile(fd)) {
    CU_ASSIGN(PhysicalMemory* const file, PhysicalMemory::ImportFile(fd));
    *out = file->handle();
    return CUDA_SUCCESS;
  }
  CU_ASSIGN(const wire::ShareHandle handle, ReadDescriptor(fd));
  if (handle.kind != wire::ShareKind::kMemory) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(PhysicalMemory* const memory, PhysicalMemory::Import(handle.memory));
  *out = memory->handle();
  return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr* out, size_t bytes, size_t alignment, CUdeviceptr wish,
                             unsigned long long flags) {
  if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(*out, VirtualMemory::Get().Reserve(bytes, alignment, wish));
  return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes) { return VirtualMemory::Get().Free(address, bytes); }

CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  PhysicalMemory* const memory = PhysicalMemory::Find(handle);
  if (memory == nullptr || flags != 0 || offset != 0) return CUDA_ERROR_INVALID_VALUE;
  return VirtualMemory::Get().Map(address, bytes, *memory);
}

CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) { return VirtualMemory::Get().Unmap(address, bytes); }

CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* list, size_t count) {
  if (list == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  CUmemAccess_flags most = 0;
  for (const CUmemAccessDesc& wanted : std::span(list, count)) {
    if (wanted.flags != 0 && wanted.flags != 1 && wanted.flags != 3) return CUDA_ERROR_INVALID_VALUE;
    const bool device = wanted.location.type == CU_MEM_LOCATION_TYPE_DEVICE;
    if (device && Device::Find(wanted.location.id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    // All devices and the host see the same memory, so only whether it is accessible at all matters.
    most |= wanted.flags;
  }
  return VirtualMemory::Get().SetAccess(address, bytes, most);
}

CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address) {
  if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (location->type == CU_MEM_LOCATION_TYPE_DEVICE && Device::Find(location->id) == nullptr)
    return CUDA_ERROR_INVALID_DEVICE;
  CU_ASSIGN(const CUmemAccess_flags access, VirtualMemory::Get().AccessOf(address));
  *flags = static_cast<unsigned long long>(access);
  return CUDA_SUCCESS;
}

}  // namespace tutti::client::entry
