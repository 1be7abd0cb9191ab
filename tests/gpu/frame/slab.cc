#include "frame/slab.h"

namespace tutti::gpu {

using namespace cuda;

namespace {

int Create(CUdevice device, uint64_t bytes, int kind, PhysicalHandle* handle) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = kind;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  return CU_TRY(cuMemCreate, handle, static_cast<size_t>(bytes), static_cast<const CUmemAllocationProp*>(&properties),
                0ull);
}

int Export(PhysicalHandle handle, int* fd) {
  return CU_TRY(cuMemExportToShareableHandle, static_cast<void*>(fd), handle,
                static_cast<int>(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR), 0ull);
}

}  // namespace

PhysicalHandle CreateSlab(CUdevice device, uint64_t bytes) {
  PhysicalHandle handle = 0;
  Check("cuMemCreate of exportable memory", Create(device, bytes, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, &handle));
  return handle;
}

PhysicalHandle CreatePhysical(CUdevice device, uint64_t bytes) {
  PhysicalHandle handle = 0;
  Check("cuMemCreate", Create(device, bytes, 0, &handle));
  return handle;
}

os::Fd ExportSlab(PhysicalHandle handle) {
  int fd = -1;
  Check("cuMemExportToShareableHandle", Export(handle, &fd));
  return os::Fd(fd);
}

os::Fd TryNewSlab(CUdevice device, uint64_t bytes, PhysicalHandle* handle) {
  int fd = -1;
  if (Create(device, bytes, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, handle) != 0 || Export(*handle, &fd) != 0)
    return os::Fd();
  return os::Fd(fd);
}

PhysicalHandle ImportSlab(int fd) {
  PhysicalHandle handle = 0;
  // The descriptor is passed as the pointer.
  CU(cuMemImportFromShareableHandle, &handle, reinterpret_cast<void*>(static_cast<uintptr_t>(fd)),
     static_cast<int>(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  return handle;
}

CUdeviceptr ReserveAddresses(uint64_t bytes, CUdeviceptr hint) {
  CUdeviceptr at = 0;
  CU(cuMemAddressReserve, &at, static_cast<size_t>(bytes), size_t{0}, hint, 0ull);
  return at;
}

void MapSlab(CUdeviceptr at, uint64_t bytes, PhysicalHandle handle) {
  CU(cuMemMap, at, static_cast<size_t>(bytes), size_t{0}, handle, 0ull);
}

void SetAccess(CUdevice device, CUdeviceptr at, uint64_t bytes) {
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, device}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CU(cuMemSetAccess, at, static_cast<size_t>(bytes), &access, size_t{1});
}

CUdeviceptr PlaceSlab(CUdevice device, uint64_t bytes, PhysicalHandle handle, CUdeviceptr hint) {
  const CUdeviceptr at = ReserveAddresses(bytes, hint);
  MapSlab(at, bytes, handle);
  SetAccess(device, at, bytes);
  return at;
}

void RemoveSlab(CUdeviceptr at, uint64_t bytes) {
  CU(cuMemUnmap, at, static_cast<size_t>(bytes));
  CU(cuMemAddressFree, at, static_cast<size_t>(bytes));
}

}  // namespace tutti::gpu
