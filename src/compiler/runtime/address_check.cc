// The cold path of address checks: checks an address that is not where it most likely is against all memories that it
// may legally lie in, and ends the kernel if it is in none.
#include "compiler/runtime/memories.h"
#include "compiler/runtime/vector.h"
#include "guest/cpu/kernel_abi.h"

using namespace tutti::guest_runtime;
using tutti::guest::BlockState;
using tutti::guest::kSlotShift;
using tutti::guest::kViewShift;
using tutti::guest::WarpState;

namespace {

TUTTI_INLINE bool Within(uint64_t address, uint64_t bytes, uint64_t start, uint64_t size) {
  return address - start < size && bytes <= size - (address - start);
}

// Shared memory of the block's cluster, in any block's view.
TUTTI_INLINE bool IsInCluster(const BlockState* block, uint64_t address, uint64_t bytes) {
  const uint64_t distance = address - block->cluster_views;
  if (distance >= uint64_t{block->cluster_slots} << kViewShift) return false;
  const uint64_t slot = (distance & 0xffffffffu) >> kSlotShift, offset = distance & ((1u << kSlotShift) - 1);
  return slot <= block->cluster_slots && Within(offset, bytes, 0, block->shared_bytes);
}

// Beyond the reach that the block began with, only the device knows.
TUTTI_INLINE bool IsInWindow(WarpState* warp, uint64_t address, uint64_t bytes, uint32_t writes) {
  const BlockState* block = warp->block;
  if (Within(address, bytes, block->reach_base, block->reach_bytes)) return true;
  return Within(address, bytes, block->window_base, block->window_bytes) &&
         block->services->may_touch(warp, address, bytes, writes) != 0;
}

TUTTI_INLINE bool IsLegal(WarpState* warp, uint64_t address, uint64_t bytes, uint32_t spaces, uint64_t param_bytes) {
  const BlockState* block = warp->block;
  if ((spaces & kWindow) != 0 && IsInWindow(warp, address, bytes, spaces & kWrites)) return true;
  if ((spaces & kShared) != 0 && Within(address, bytes, reinterpret_cast<uint64_t>(block->shared), block->shared_bytes))
    return true;
  if ((spaces & kShared) != 0 && IsInCluster(block, address, bytes)) return true;
  if ((spaces & kLocal) != 0 &&
      Within(address, bytes, reinterpret_cast<uint64_t>(warp->local), uint64_t{warp->local_bytes} * TUTTI_LANES))
    return true;
  return (spaces & kParams) != 0 && Within(address, bytes, reinterpret_cast<uint64_t>(block->params), param_bytes);
}

TUTTI_INLINE void Check(WarpState* warp, uint32_t lane, uint64_t address, uint64_t bytes, uint32_t location,
                        uint32_t spaces, uint64_t param_bytes) {
  using tutti::guest::FaultKind;
  FaultKind kind = FaultKind::kIllegalAddress;
  if (IsLegal(warp, address, bytes, spaces, param_bytes)) {
    if ((address & ((uint64_t{1} << (spaces >> kAlignShift)) - 1)) == 0) return;
    kind = FaultKind::kMisalignedAddress;
  }
  warp->block->services->fault(warp, kind, lane, address, location);
}

}  // namespace

// [address, address + bytes), which `lane` accesses first.
TUTTI_EXPORT void tutti_check(WarpState* warp, uint64_t address, uint32_t bytes, uint32_t lane, uint32_t location,
                              uint32_t spaces, uint32_t param_bytes) {
  Check(warp, lane, address, bytes, location, spaces, param_bytes);
}

// `bytes` at each address of the lanes in `mask`.
TUTTI_EXPORT void tutti_check_lanes(WarpState* warp, U64 addresses, uint32_t mask, uint32_t bytes, uint32_t location,
                                    uint32_t spaces, uint32_t param_bytes) {
  uint64_t at[TUTTI_LANES];
  __builtin_memcpy(at, &addresses, sizeof at);
  ForEachLane(mask, [&](uint32_t lane) { Check(warp, lane, at[lane], bytes, location, spaces, param_bytes); });
}
