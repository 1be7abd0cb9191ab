// Physical memory without an address (cuMemCreate, or imported): counted from its creation on, visible where it is
// mapped (client/memory/virtual_memory.h), at any number of places at once.
//
// The server grants memory of a device like any other allocation; nobody uses the address that this has. Imported
// memory is the server's to find. Memory of the host is a file of its own, which this process maps, too
// (client/memory/host_memory.h).
#pragma once

#include <cstdint>

#include "client/base/answer.h"
#include "client/base/pool.h"
#include "client/memory/shared_memory.h"
#include "client/session/attachment.h"
#include "cuda/types.h"

namespace tutti::client {

class Device;

// Not thread-safe: VirtualMemory holds the lock. Find, name and what is constant are thread-safe.
class PhysicalMemory {
 public:
  static constexpr uint64_t kGranularity = 2u << 20;

  PhysicalMemory(Device& device, uint64_t bytes, wire::MapSource source, uint64_t memory,
                 const wire::ExportedMemory& name, const cuda::CUmemAllocationProp& properties)
      : device_(device),
        attachment_(&Attachment::Get()),
        bytes_(bytes),
        source_(source),
        memory_(memory),
        name_(name),
        properties_(properties) {}

  // Null also for memory of an ended session.
  static PhysicalMemory* Find(cuda::CUmemGenericAllocationHandle handle) {
    PhysicalMemory* const found = pool_.Find(reinterpret_cast<const void*>(handle));
    return found != nullptr && found->attachment_ == &Attachment::Get() ? found : nullptr;
  }
  // OUT_OF_MEMORY over the limit or the device's size.
  static Answer<PhysicalMemory*> Create(Device& device, uint64_t bytes, const cuda::CUmemAllocationProp& properties);
  // Memory of the host, as seen by `device`.
  static Answer<PhysicalMemory*> CreateOnHost(Device& device, uint64_t bytes,
                                              const cuda::CUmemAllocationProp& properties);
  // What a descriptor stands for (client/memory/shared_memory.h).
  static Answer<PhysicalMemory*> Import(const wire::ExportedMemory& name);
  static Answer<PhysicalMemory*> ImportFile(int fd);

  cuda::CUmemGenericAllocationHandle handle() const { return reinterpret_cast<uint64_t>(this); }
  Device& device() const { return device_; }
  uint64_t bytes() const { return bytes_; }
  const cuda::CUmemAllocationProp& properties() const { return properties_; }
  // Names it to other processes.
  Answer<wire::ExportedMemory> Name() const;

  bool on_host() const { return properties_.location.type != cuda::CU_MEM_LOCATION_TYPE_DEVICE; }

  // Shows it there, or hides it (kNone). The addresses are reserved.
  int ShowAt(uint64_t address, wire::MapAccess access) const;

  // References, and places it is mapped at.
  void Retain() { ++references_; }
  void Mapped() { ++mappings_; }
  // False if that was the last one.
  bool Release() { return --references_ + mappings_ != 0; }
  bool Unmapped() { return references_ + --mappings_ != 0; }
  bool held() const { return references_ != 0; }
  // Frees the memory, which is neither referenced nor mapped.
  static void Destroy(PhysicalMemory* memory);

 private:
  static Answer<PhysicalMemory*> Of(const ImportedMemory& imported, const wire::ExportedMemory& name);
  static constinit Pool<PhysicalMemory, 1 << 18> pool_;

  Device& device_;
  const Attachment* const attachment_;
  const uint64_t bytes_;
  const wire::MapSource source_;
  const uint64_t memory_;  // the address of its allocation, or the number of its import
  const wire::ExportedMemory name_;  // of imported memory; else its id is 0
  const cuda::CUmemAllocationProp properties_;
  unsigned references_ = 1;
  unsigned mappings_ = 0;
};

}  // namespace tutti::client
