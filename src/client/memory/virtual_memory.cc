#include "client/memory/virtual_memory.h"

#include <algorithm>

#include "client/base/complaint.h"
#include "client/context/context.h"
#include "client/context/device.h"
#include "client/memory/allocation_table.h"
#include "client/memory/host_memory.h"
#include "client/memory/memory.h"
#include "client/memory/stray_access.h"
#include "client/session/attachment.h"

namespace tutti::client {
namespace {

bool Whole(uint64_t bytes) { return bytes != 0 && bytes % VirtualMemory::kGranularity == 0; }

// For copies and pointer queries a mapping with access is memory like any other.
void Show(uint64_t address, PhysicalMemory& memory) {
  AllocationTable::Get().Insert({.address = address,
                                 .bytes = memory.bytes(),
                                 .kind = AllocationKind::kVirtual,
                                 .context = &memory.device().primary(),
                                 .device_address = address,
                                 .host_address = memory.on_host() ? address : 0});
}

void Hide(uint64_t address) {
  AllocationTable::Get().Take(address, [](const Allocation& a) { return a.kind == AllocationKind::kVirtual; });
}

}  // namespace

VirtualMemory& VirtualMemory::Get() {
  static auto* const instance = new VirtualMemory;
  return *instance;
}

void VirtualMemory::StartAgain() {
  std::lock_guard lock(mutex_);
  for (const auto& [address, mapping] : mappings_) Hide(address);
  mappings_.clear();
  reservations_.clear();
}

Answer<uint64_t> VirtualMemory::Reserve(uint64_t bytes, uint64_t alignment, uint64_t wish) {
  if (!Whole(bytes) || (alignment & (alignment - 1)) != 0) return Refuse(cuda::CUDA_ERROR_INVALID_VALUE);
  const auto address = AskForMemory(Device::Find(0)->primary(), wire::MemoryKind::kAddresses, bytes,
                                    std::max(alignment, kGranularity), wish);
  if (!address && address.error() == cuda::CUDA_ERROR_OUT_OF_MEMORY) {
    return Refuse(Complain(cuda::CUDA_ERROR_OUT_OF_MEMORY,
                           "no room to reserve {} bytes: the process has addresses for {} in all, less what it has "
                           "reserved",
                           bytes, Attachment::Get().connection().window_shape().reserved_bytes));
  }
  if (!address) return address;
  ReportStrayAccesses();
  std::lock_guard lock(mutex_);
  reservations_.emplace(*address, bytes);
  return address;
}

int VirtualMemory::Free(uint64_t address, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  const auto found = reservations_.find(address);
  if (found == reservations_.end() || found->second != bytes) {
    return Complain(cuda::CUDA_ERROR_INVALID_VALUE,
                    "{} bytes at {:#x} are not a range that cuMemAddressReserve returned", bytes, address);
  }
  const auto inside = mappings_.lower_bound(address);
  if (inside != mappings_.end() && inside->first < address + bytes) {
    return Complain(cuda::CUDA_ERROR_INVALID_VALUE, "the range at {:#x} still has memory mapped at {:#x}", address,
                    inside->first);
  }
  reservations_.erase(found);
  ReleaseMemory(address);
  return cuda::CUDA_SUCCESS;
}

bool VirtualMemory::Reserved(uint64_t address, uint64_t bytes) const {
  auto it = reservations_.upper_bound(address);
  if (it == reservations_.begin()) return false;
  --it;
  return address - it->first < it->second && bytes <= it->second - (address - it->first);
}

int VirtualMemory::Map(uint64_t address, uint64_t bytes, PhysicalMemory& memory) {
  if (bytes != memory.bytes() || address % kGranularity != 0) return cuda::CUDA_ERROR_INVALID_VALUE;
  std::lock_guard lock(mutex_);
  if (!Reserved(address, bytes)) {
    return Complain(cuda::CUDA_ERROR_INVALID_VALUE,
                    "mapping at {:#x}, outside of every reserved range: cuMemAddressReserve it first", address);
  }
  const auto next = mappings_.lower_bound(address);
  if ((next != mappings_.end() && next->first < address + bytes) ||
      (next != mappings_.begin() && std::prev(next)->second.end(std::prev(next)->first) > address)) {
    return Complain(cuda::CUDA_ERROR_INVALID_VALUE, "mapping at {:#x}, where memory is mapped already", address);
  }
  memory.Mapped();
  mappings_.emplace(address, Mapping{.memory = &memory});
  return cuda::CUDA_SUCCESS;
}

std::pair<VirtualMemory::Mappings::iterator, VirtualMemory::Mappings::iterator> VirtualMemory::Exactly(uint64_t address,
                                                                                                       uint64_t bytes) {
  const std::pair none(mappings_.end(), mappings_.end());
  const auto first = mappings_.find(address);
  auto it = first;
  uint64_t reached = address;
  while (it != mappings_.end() && it->first == reached && reached - address < bytes) {
    reached = it->second.end(it->first);
    ++it;
  }
  return first != mappings_.end() && reached - address == bytes ? std::pair(first, it) : none;
}

int VirtualMemory::Unmap(uint64_t address, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  const auto [first, last] = Exactly(address, bytes);
  if (first == last) {
    return Complain(cuda::CUDA_ERROR_INVALID_VALUE,
                    "{} bytes at {:#x} are not whole mappings: unmap what cuMemMap mapped", bytes, address);
  }
  const bool shown = std::any_of(first, last, [](const auto& entry) { return entry.second.access != 0; });
  if (shown) CU_TRY(MapMemory(address, bytes, wire::MapAccess::kNone));
  for (auto it = first; it != last; ++it) {
    if (it->second.access != 0) Hide(it->first);
    if (it->second.access != 0 && it->second.memory->on_host()) HideFromHost(it->first, it->second.memory->bytes());
    if (!it->second.memory->Unmapped()) PhysicalMemory::Destroy(it->second.memory);
  }
  mappings_.erase(first, last);
  return cuda::CUDA_SUCCESS;
}

int VirtualMemory::SetAccess(uint64_t address, uint64_t bytes, cuda::CUmemAccess_flags flags) {
  std::lock_guard lock(mutex_);
  const auto [first, last] = Exactly(address, bytes);
  if (first == last) {
    return Complain(cuda::CUDA_ERROR_INVALID_VALUE, "access to {} bytes at {:#x}: they are not all mapped", bytes,
                    address);
  }
  for (auto it = first; it != last; ++it) {
    Mapping& mapping = it->second;
    if (mapping.access == flags) continue;
    CU_TRY(mapping.memory->ShowAt(it->first, static_cast<wire::MapAccess>(flags)));
    if (mapping.access == 0) Show(it->first, *mapping.memory);
    if (flags == 0) Hide(it->first);
    mapping.access = flags;
  }
  return cuda::CUDA_SUCCESS;
}

Answer<cuda::CUmemAccess_flags> VirtualMemory::AccessOf(uint64_t address) {
  std::lock_guard lock(mutex_);
  auto it = mappings_.upper_bound(address);
  if (it == mappings_.begin() || std::prev(it)->second.end(std::prev(it)->first) <= address)
    return Refuse(cuda::CUDA_ERROR_INVALID_VALUE);
  return std::prev(it)->second.access;
}

unsigned long long VirtualMemory::HandleTypesAt(uint64_t address) {
  std::lock_guard lock(mutex_);
  const auto it = mappings_.upper_bound(address);
  if (it == mappings_.begin() || std::prev(it)->second.end(std::prev(it)->first) <= address) return 0;
  return static_cast<unsigned long long>(std::prev(it)->second.memory->properties().requestedHandleTypes);
}

Answer<PhysicalMemory*> VirtualMemory::Retain(uint64_t address) {
  std::lock_guard lock(mutex_);
  auto it = mappings_.upper_bound(address);
  if (it == mappings_.begin() || std::prev(it)->second.end(std::prev(it)->first) <= address)
    return Refuse(cuda::CUDA_ERROR_INVALID_VALUE);
  PhysicalMemory* const memory = std::prev(it)->second.memory;
  memory->Retain();
  return memory;
}

void VirtualMemory::Release(PhysicalMemory& memory) {
  std::lock_guard lock(mutex_);
  if (!memory.held() || memory.Release()) return;
  PhysicalMemory::Destroy(&memory);
}

}  // namespace tutti::client
