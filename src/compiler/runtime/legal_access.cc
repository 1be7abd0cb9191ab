#include "compiler/runtime/legal_access.h"

#include "compiler/runtime/legal_address.h"

using namespace tutti::guest_runtime;
using tutti::guest::WarpState;

namespace {

template <typename T>
void LoadEach(const uint64_t* at, uint32_t mask, void* values) {
  ForEachLane(mask, [&](uint32_t lane) {
    __builtin_memcpy(static_cast<T*>(values) + lane, reinterpret_cast<const void*>(at[lane]), sizeof(T));
  });
}

template <typename T>
void StoreEach(const uint64_t* at, uint32_t mask, const void* values) {
  ForEachLane(mask, [&](uint32_t lane) {
    __builtin_memcpy(reinterpret_cast<void*>(at[lane]), static_cast<const T*>(values) + lane, sizeof(T));
  });
}

}  // namespace

TUTTI_SUPPORT void tutti_support_check(WarpState* warp, uint64_t address, uint32_t bytes, uint32_t lane,
                                       uint32_t location, uint32_t what, uint32_t param_bytes) {
  Check(warp, lane, address, bytes, location, what, param_bytes);
}

TUTTI_SUPPORT void tutti_support_check_each(WarpState* warp, const uint64_t* at, uint32_t mask, uint32_t what,
                                            uint64_t place) {
  const uint32_t bytes = what >> kBytesShift;
  if (bytes == 0) return;  // elements behind those that were checked
  ForEachLane(mask, [&](uint32_t lane) {
    Check(warp, lane, at[lane], bytes, static_cast<uint32_t>(place), what & ((1u << kBytesShift) - 1), place >> 32);
  });
}

TUTTI_SUPPORT void tutti_support_load_each(WarpState* warp, const uint64_t* at, uint32_t mask, uint32_t what,
                                           uint64_t place, void* values, uint32_t element_bytes) {
  tutti_support_check_each(warp, at, mask, what, place);
  switch (element_bytes) {
    case 1: return LoadEach<uint8_t>(at, mask, values);
    case 2: return LoadEach<uint16_t>(at, mask, values);
    case 4: return LoadEach<uint32_t>(at, mask, values);
    default: return LoadEach<uint64_t>(at, mask, values);
  }
}

TUTTI_SUPPORT void tutti_support_store_each(WarpState* warp, const uint64_t* at, uint32_t mask, uint32_t what,
                                            uint64_t place, const void* values, uint32_t element_bytes) {
  tutti_support_check_each(warp, at, mask, what, place);
  switch (element_bytes) {
    case 1: return StoreEach<uint8_t>(at, mask, values);
    case 2: return StoreEach<uint16_t>(at, mask, values);
    case 4: return StoreEach<uint32_t>(at, mask, values);
    default: return StoreEach<uint64_t>(at, mask, values);
  }
}
