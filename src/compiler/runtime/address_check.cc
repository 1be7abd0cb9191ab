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
