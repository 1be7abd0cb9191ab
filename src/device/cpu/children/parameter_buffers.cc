#include "device/cpu/children/parameter_buffers.h"

#include <algorithm>
#include <bit>

namespace tutti::device::cpu {

uint32_t ParameterBuffers::SizeOf(uint64_t bytes) {
  return static_cast<uint32_t>(std::countr_zero(std::bit_ceil(std::max(bytes, kLeastBytes)) / kLeastBytes));
}

// Memory is taken by the slab and kept: a client that launches from its kernels does so again.
uint64_t ParameterBuffers::Take(const CpuOperation* grid, uint64_t bytes, const std::optional<ChildShape>& shape) {
  constexpr uint64_t kSlabBytes = 64 << 10, kHostBytes = 192;
  if (bytes > kMostBytes) return 0;
  HostHold hold(host_, kHostBytes);
  if (!hold) return 0;
  const uint32_t size = SizeOf(bytes);
  if (free_[size].empty()) {
    const auto slab =
        memory_->Allocate(device_, wire::MemoryKind::kDevice, kSlabBytes, 256, WindowMemory::Holder::kDevice);
    if (!slab) return 0;
    const uint64_t each = kLeastBytes << size;
    for (uint64_t at = kSlabBytes; at >= each; at -= each) free_[size].push_back(*slab + at - each);
  }
  const uint64_t address = free_[size].back();
  free_[size].pop_back();
  taken_.emplace(address, Buffer{.grid = grid, .bytes = bytes, .shape = shape, .hold = std::move(hold)});
  return address;
}

const ParameterBuffers::Buffer* ParameterBuffers::Find(const CpuOperation* grid, uint64_t address) const {
  const auto found = taken_.find(address);
  return found == taken_.end() || found->second.grid != grid ? nullptr : &found->second;
}

void ParameterBuffers::Give(uint64_t address) {
  const auto found = taken_.find(address);
  if (found == taken_.end()) return;
  free_[SizeOf(found->second.bytes)].push_back(address);
  taken_.erase(found);
}

void ParameterBuffers::GiveAllOf(const CpuOperation* grid) {
  for (auto at = taken_.begin(); at != taken_.end();) {
    if (at->second.grid != grid) {
      ++at;
      continue;
    }
    free_[SizeOf(at->second.bytes)].push_back(at->first);
    at = taken_.erase(at);
  }
}

}  // namespace tutti::device::cpu
