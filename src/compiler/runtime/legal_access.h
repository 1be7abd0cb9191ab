// The part of cold accesses that has no vectors: in the support object, so that no kernel needs it compiled again.
#pragma once

#include "compiler/runtime/vector.h"
#include "guest/cpu/kernel_abi.h"

// [address, address + bytes), which `lane` accesses first: ends the kernel if that is illegal. `what`: a set of
// memories and the alignment (memories.h).
TUTTI_SUPPORT void tutti_support_check(tutti::guest::WarpState* warp, uint64_t address, uint32_t bytes, uint32_t lane,
                                       uint32_t location, uint32_t what, uint32_t param_bytes);
// The addresses of the lanes in `mask`. `what`: as well how many bytes; `place`: the location, and above it the bytes
// of parameters.
TUTTI_SUPPORT void tutti_support_check_each(tutti::guest::WarpState* warp, const uint64_t* at, uint32_t mask,
                                            uint32_t what, uint64_t place);
// An element of 1, 2, 4 or 8 bytes at each of these addresses, all of which are checked first.
TUTTI_SUPPORT void tutti_support_load_each(tutti::guest::WarpState* warp, const uint64_t* at, uint32_t mask,
                                           uint32_t what, uint64_t place, void* values, uint32_t element_bytes);
TUTTI_SUPPORT void tutti_support_store_each(tutti::guest::WarpState* warp, const uint64_t* at, uint32_t mask,
                                            uint32_t what, uint64_t place, const void* values, uint32_t element_bytes);
