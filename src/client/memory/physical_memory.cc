#include "client/memory/physical_memory.h"

#include <sys/mman.h>

#include <cstring>

#include "client/context/context.h"
#include "client/context/current.h"
#include "client/context/device.h"
#include "client/memory/memory.h"

namespace tutti::client {
namespace {

// Returns the pages to the system; they read as zero from then on.
void Discard(uint64_t address, uint64_t bytes) { madvise(reinterpret_cast<void*>(address), bytes, MADV_REMOVE); }

}  // namespace

constinit Pool<PhysicalMemory, 1 << 18> PhysicalMemory::pool_;

Answer<PhysicalMemory*> PhysicalMemory::Create(Device& device, uint64_t bytes,
                                               const cuda::CUmemAllocationProp& properties) {
  // Waits for a context of the device if freed memory is still in use.
  const auto current = CurrentContext();
  Context& context = current && &(*current)->device() == &device ? **current : device.primary();
  CU_ASSIGN_OR_REFUSE(const uint64_t home, AskForMemory(context, wire::MemoryKind::kDevice, bytes, kGranularity));
  PhysicalMemory* memory = pool_.Create(device, bytes, home, properties);
  if (memory != nullptr) return memory;
  ReleaseMemory(home);
  return Refuse(cuda::CUDA_ERROR_OUT_OF_MEMORY);
}

void PhysicalMemory::MoveTo(uint64_t address) {
  if (content_ == address) return;
  if (content_ != 0) {
    std::memcpy(reinterpret_cast<void*>(address), reinterpret_cast<const void*>(content_), bytes_);
    Discard(content_, bytes_);
  }
  content_ = address;
}

void PhysicalMemory::MapTo(uint64_t address) {
  MoveTo(address);
  mapped_ = true;
}

void PhysicalMemory::Destroy(PhysicalMemory* memory) {
  if (!pool_.Retire(memory)) return;
  if (memory->content_ != 0) Discard(memory->content_, memory->bytes_);
  ReleaseMemory(memory->home_);
  pool_.Delete(memory);
}

}  // namespace tutti::client
