// The cold path of address checks: checks an address that is not where it most likely is against all memories that it
// may legally lie in, and ends the kernel if it is in none.
#include "compiler/runtime/legal_access.h"
#include "compiler/runtime/memories.h"

using namespace tutti::guest_runtime;
using tutti::guest::WarpState;

// [address, address + bytes), which `lane` accesses first.
TUTTI_EXPORT void tutti_check(WarpState* warp, uint64_t address, uint32_t bytes, uint32_t lane, uint32_t location,
                              uint32_t spaces, uint32_t param_bytes) {
  tutti_support_check(warp, address, bytes, lane, location, spaces, param_bytes);
}

// At each address of the lanes in `mask`; `what` and `place` as in rare_access.cc. ..._run: at `base` plus each lane's
// offset.
TUTTI_EXPORT void tutti_check_lanes(WarpState* warp, U64 addresses, uint32_t mask, uint32_t what, uint64_t place) {
  uint64_t at[TUTTI_LANES];
  __builtin_memcpy(at, &addresses, sizeof at);
  tutti_support_check_each(warp, at, mask, what, place);
}
TUTTI_EXPORT void tutti_check_lanes_run(WarpState* warp, uint64_t base, const uint64_t* offsets, uint32_t mask,
                                        uint32_t what, uint64_t place) {
  uint64_t at[TUTTI_LANES];
  for (uint32_t lane = 0; lane < TUTTI_LANES; ++lane) at[lane] = base + offsets[lane];
  tutti_support_check_each(warp, at, mask, what, place);
}
