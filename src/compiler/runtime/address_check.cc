// The cold path of address checks: checks an address that is not where it most likely is against all memories that it
// may legally lie in, and ends the kernel if it is in none.
#include "compiler/runtime/legal_address.h"

using namespace tutti::guest_runtime;
using tutti::guest::WarpState;

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
