// The cold way of loads and stores: the lanes' addresses are not where they most likely are, so each is checked against
// all memories that it may legally lie in, and read or written by itself. As functions, which a kernel has once,
// however many accesses it makes: in place, the vectors of addresses, their comparison and a gather were two thirds of
// a kernel's code.
#include "compiler/runtime/legal_access.h"

using tutti::guest::WarpState;

namespace {

template <typename T, typename V>
TUTTI_INLINE V LoadEach(WarpState* warp, U64 addresses, uint32_t mask, uint32_t what, uint64_t place) {
  uint64_t at[TUTTI_LANES];
  __builtin_memcpy(at, &addresses, sizeof at);
  V loaded = {};
  T values[TUTTI_LANES];
  __builtin_memcpy(values, &loaded, sizeof values);
  tutti_support_load_each(warp, at, mask, what, place, values, sizeof(T));
  __builtin_memcpy(&loaded, values, sizeof values);
  return loaded;
}

template <typename T, typename V>
TUTTI_INLINE void StoreEach(WarpState* warp, U64 addresses, V data, uint32_t mask, uint32_t what, uint64_t place) {
  uint64_t at[TUTTI_LANES];
  __builtin_memcpy(at, &addresses, sizeof at);
  T values[TUTTI_LANES];
  __builtin_memcpy(values, &data, sizeof values);
  tutti_support_store_each(warp, at, mask, what, place, values, sizeof(T));
}

TUTTI_INLINE U64 Addresses(uint64_t base, const uint64_t* offsets) {
  U64 addresses;
  __builtin_memcpy(&addresses, offsets, sizeof addresses);
  return addresses + U64(base);
}

}  // namespace

// tutti_rare_load_<type>(warp, addresses, mask, what, place), ..._run: at `base` plus each lane's offset. `what`: bits
// of memories.h, among them how many bytes are checked at each address; `place`: the location for a report, and above
// it the bytes of parameters (legal_access.h). Where two lanes write to one address the higher lane wins.
#define TUTTI_RARE_ACCESS(type, Element, Vector)                                                               \
  TUTTI_EXPORT Vector tutti_rare_load_##type(WarpState* warp, U64 addresses, uint32_t mask, uint32_t what,     \
                                             uint64_t place) {                                                 \
    return LoadEach<Element, Vector>(warp, addresses, mask, what, place);                                      \
  }                                                                                                            \
  TUTTI_EXPORT Vector tutti_rare_load_run_##type(WarpState* warp, uint64_t base, const uint64_t* offsets,      \
                                                 uint32_t mask, uint32_t what, uint64_t place) {               \
    return LoadEach<Element, Vector>(warp, Addresses(base, offsets), mask, what, place);                       \
  }                                                                                                            \
  TUTTI_EXPORT void tutti_rare_store_##type(WarpState* warp, U64 addresses, uint32_t mask, uint32_t what,      \
                                            uint64_t place, Vector values) {                                   \
    StoreEach<Element>(warp, addresses, values, mask, what, place);                                            \
  }                                                                                                            \
  TUTTI_EXPORT void tutti_rare_store_run_##type(WarpState* warp, uint64_t base, const uint64_t* offsets,       \
                                                uint32_t mask, uint32_t what, uint64_t place, Vector values) { \
    StoreEach<Element>(warp, Addresses(base, offsets), values, mask, what, place);                             \
  }

TUTTI_RARE_ACCESS(i8, uint8_t, I8)
TUTTI_RARE_ACCESS(i16, uint16_t, I16)
TUTTI_RARE_ACCESS(i32, uint32_t, I32)
TUTTI_RARE_ACCESS(i64, uint64_t, I64)
