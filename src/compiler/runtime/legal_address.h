// What a guest address may refer to: asked on the cold path of widened accesses, and by runtime functions that find
// addresses themselves.
#pragma once

#include "compiler/runtime/memories.h"
#include "compiler/runtime/vector.h"
#include "guest/cpu/kernel_abi.h"

namespace tutti::guest_runtime {

TUTTI_INLINE bool Within(uint64_t address, uint64_t bytes, uint64_t start, uint64_t size) {
  return address - start < size && bytes <= size - (address - start);
}

// Shared memory of the block's cluster, in any block's view.
TUTTI_INLINE bool IsInCluster(const guest::BlockState* block, uint64_t address, uint64_t bytes) {
  using guest::kSlotShift;
  const uint64_t distance = address - block->cluster_views;
  if (distance >= uint64_t{block->cluster_slots} << guest::kViewShift) return false;
  const uint64_t slot = (distance & 0xffffffffu) >> kSlotShift, offset = distance & ((1u << kSlotShift) - 1);
  return slot <= block->cluster_slots && Within(offset, bytes, 0, block->shared_bytes);
}

// Beyond the reach that the block began with, only the device knows.
TUTTI_INLINE bool IsInWindow(guest::WarpState* warp, uint64_t address, uint64_t bytes, uint32_t writes) {
  const guest::BlockState* block = warp->block;
  if (Within(address, bytes, block->reach_base, block->reach_bytes)) return true;
  return Within(address, bytes, block->window_base, block->window_bytes) &&
         block->services->may_touch(warp, address, bytes, writes) != 0;
}

// In one of the memories of `spaces` (memories.h).
TUTTI_INLINE bool IsLegal(guest::WarpState* warp, uint64_t address, uint64_t bytes, uint32_t spaces,
                          uint64_t param_bytes) {
  const guest::BlockState* block = warp->block;
  if ((spaces & kWindow) != 0 && IsInWindow(warp, address, bytes, spaces & kWrites)) return true;
  if ((spaces & kShared) != 0 && Within(address, bytes, reinterpret_cast<uint64_t>(block->shared), block->shared_bytes))
    return true;
  if ((spaces & kShared) != 0 && IsInCluster(block, address, bytes)) return true;
  if ((spaces & kLocal) != 0 &&
      Within(address, bytes, reinterpret_cast<uint64_t>(warp->local), uint64_t{warp->local_bytes} * TUTTI_LANES))
    return true;
  return (spaces & kParams) != 0 && Within(address, bytes, reinterpret_cast<uint64_t>(block->params), param_bytes);
}

// Ends the kernel unless the address is legal and a multiple of what `spaces` says.
TUTTI_INLINE void Check(guest::WarpState* warp, uint32_t lane, uint64_t address, uint64_t bytes, uint32_t location,
                        uint32_t spaces, uint64_t param_bytes) {
  using guest::FaultKind;
  FaultKind kind = FaultKind::kIllegalAddress;
  if (IsLegal(warp, address, bytes, spaces, param_bytes)) {
    if ((address & ((uint64_t{1} << (spaces >> kAlignShift)) - 1)) == 0) return;
    kind = FaultKind::kMisalignedAddress;
  }
  warp->block->services->fault(warp, kind, lane, address, location);
}

}  // namespace tutti::guest_runtime
