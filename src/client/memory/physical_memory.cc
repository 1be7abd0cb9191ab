#include "client/memory/physical_memory.h"

#include "client/context/context.h"
#include "client/context/current.h"
#include "client/context/device.h"
#include "client/memory/host_memory.h"
#include "client/memory/memory.h"

namespace tutti::client {
namespace {

// The device of the process that the server has this number for. Memory of a device that the process does not see is
// shown as the first one's.
Device& DeviceOf(uint32_t index) {
  for (int ordinal = 0; ordinal < Device::count(); ++ordinal) {
    Device* const device = Device::Find(ordinal);
    if (device->index() == index) return *device;
  }
  return *Device::Find(0);
}

}  // namespace

constinit Pool<PhysicalMemory, 1 << 18> PhysicalMemory::pool_;

Answer<PhysicalMemory*> PhysicalMemory::Create(Device& device, uint64_t bytes,
                                               const cuda::CUmemAllocationProp& properties) {
  // Waits for a context of the device if freed memory is still in use.
  const auto current = CurrentContext();
  Context& context = current && &(*current)->device() == &device ? **current : device.primary();
  CU_ASSIGN_OR_REFUSE(const uint64_t home, AskForMemory(context, wire::MemoryKind::kDevice, bytes, kGranularity));
  PhysicalMemory* const memory =
      pool_.Create(device, bytes, wire::MapSource::kOwn, home, wire::ExportedMemory{}, properties);
  if (memory != nullptr) return memory;
  ReleaseMemory(home);
  return Refuse(cuda::CUDA_ERROR_OUT_OF_MEMORY);
}

Answer<PhysicalMemory*> PhysicalMemory::CreateOnHost(Device& device, uint64_t bytes,
                                                     const cuda::CUmemAllocationProp& properties) {
  CU_ASSIGN_OR_REFUSE(const uint64_t number, CreateHostMemory(bytes));
  PhysicalMemory* const memory =
      pool_.Create(device, bytes, wire::MapSource::kImported, number, wire::ExportedMemory{}, properties);
  if (memory != nullptr) return memory;
  DropImport(number);
  return Refuse(cuda::CUDA_ERROR_OUT_OF_MEMORY);
}

Answer<PhysicalMemory*> PhysicalMemory::Import(const wire::ExportedMemory& name) {
  CU_ASSIGN_OR_REFUSE(const ImportedMemory imported, ImportMemory(name));
  return Of(imported, name);
}

Answer<PhysicalMemory*> PhysicalMemory::ImportFile(int fd) {
  CU_ASSIGN_OR_REFUSE(const ImportedMemory imported, client::ImportFile(fd));
  return Of(imported, {});
}

Answer<PhysicalMemory*> PhysicalMemory::Of(const ImportedMemory& imported, const wire::ExportedMemory& name) {
  Device& device = DeviceOf(imported.device);
  const cuda::CUmemAllocationProp properties{
      .type = cuda::CU_MEM_ALLOCATION_TYPE_PINNED,
      .requestedHandleTypes = cuda::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
      .location = {.type = imported.host ? cuda::CU_MEM_LOCATION_TYPE_HOST : cuda::CU_MEM_LOCATION_TYPE_DEVICE,
                   .id = imported.host ? 0 : device.ordinal()},
      .win32HandleMetaData = nullptr,
      .allocFlags = {}};
  PhysicalMemory* const memory =
      pool_.Create(device, imported.bytes, wire::MapSource::kImported, imported.number, name, properties);
  if (memory != nullptr) return memory;
  DropImport(imported.number);
  return Refuse(cuda::CUDA_ERROR_OUT_OF_MEMORY);
}

Answer<wire::ExportedMemory> PhysicalMemory::Name() const {
  if (name_.id != 0) return name_;
  return source_ == wire::MapSource::kImported ? ExportHostMemory(memory_) : ExportMemory(memory_);
}

// Kernels lose it first and get it last.
int PhysicalMemory::ShowAt(uint64_t address, wire::MapAccess access) const {
  if (!on_host() || access == wire::MapAccess::kNone) {
    CU_TRY(MapMemory(address, bytes_, access, source_, memory_));
    if (on_host()) HideFromHost(address, bytes_);
    return cuda::CUDA_SUCCESS;
  }
  CU_TRY(ShowToHost(address, bytes_, memory_, access == wire::MapAccess::kReadWrite));
  const int mapped = MapMemory(address, bytes_, access, source_, memory_);
  if (mapped != cuda::CUDA_SUCCESS) HideFromHost(address, bytes_);
  return mapped;
}

void PhysicalMemory::Destroy(PhysicalMemory* memory) {
  if (!pool_.Retire(memory)) return;
  if (memory->source_ == wire::MapSource::kImported) {
    DropImport(memory->memory_);
  } else {
    ReleaseMemory(memory->memory_);
  }
  pool_.Delete(memory);
}

}  // namespace tutti::client
