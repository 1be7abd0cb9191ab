// The cold way of loads and stores: the lanes' addresses are not where they most likely are, so each is checked against
// all memories that it may legally lie in, and read or written by itself. As functions, which a kernel has once,
// however many accesses it makes: in place, the vectors of addresses, their comparison and a gather were two thirds of
// a kernel's code. At the end, stores by a part of a warp.
#include "compiler/runtime/legal_access.h"

using tutti::guest::WarpState;
using namespace tutti::guest_runtime;

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

TUTTI_INLINE void CheckEach(WarpState* warp, U64 addresses, uint32_t mask, uint32_t what, uint64_t place) {
  uint64_t at[TUTTI_LANES];
  __builtin_memcpy(at, &addresses, sizeof at);
  tutti_support_check_each(warp, at, mask, what, place);
}

template <uint32_t lanes, typename T>
TUTTI_INLINE void StoreNext(char*& to, const T*& values) {
  __builtin_memcpy(to, values, lanes * sizeof(T));
  to += lanes * sizeof(T);
  values += lanes;
}

// Eight lanes at a time: all of them are a vector, some side by side a vector or less of 4, of 2 and of 1, and others
// are stored one by one. Each lane stores once, for other threads may write there as soon as they see that it did; and
// few stores it should be, for each that misses the cache has a place in the processor's queue.
template <typename T, typename V>
TUTTI_INLINE void StorePart(uint64_t address, uint32_t mask, V data) {
  constexpr uint32_t kEach = 8;
  T all[TUTTI_LANES];
  __builtin_memcpy(all, &data, sizeof all);
  for (uint32_t first = 0; first < TUTTI_LANES; first += kEach) {
    const uint32_t lanes = mask >> first & 0xff;
    if (lanes == 0) continue;
    const auto begin = first + static_cast<uint32_t>(__builtin_ctz(lanes));
    const auto count = static_cast<uint32_t>(__builtin_popcount(lanes));
    auto* to = reinterpret_cast<char*>(address) + begin * sizeof(T);
    const T* values = all + begin;
    if (count == kEach) {
      StoreNext<kEach>(to, values);
    } else if (lanes >> (begin - first) == (1u << count) - 1) {
      if ((count & 4) != 0) StoreNext<4>(to, values);
      if ((count & 2) != 0) StoreNext<2>(to, values);
      if ((count & 1) != 0) StoreNext<1>(to, values);
    } else {
      ForEachLane(lanes, [&](uint32_t lane) __attribute__((always_inline)) {
        __builtin_memcpy(reinterpret_cast<char*>(address) + (first + lane) * sizeof(T), &all[first + lane], sizeof(T));
      });
    }
  }
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

// The check alone.
TUTTI_EXPORT void tutti_check_lanes(WarpState* warp, U64 addresses, uint32_t mask, uint32_t what, uint64_t place) {
  CheckEach(warp, addresses, mask, what, place);
}
TUTTI_EXPORT void tutti_check_lanes_run(WarpState* warp, uint64_t base, const uint64_t* offsets, uint32_t mask,
                                        uint32_t what, uint64_t place) {
  CheckEach(warp, Addresses(base, offsets), mask, what, place);
}

// tutti_rare_store_part_<type>(address, mask, values): into 32 elements from `address` on, which have been checked.
#define TUTTI_RARE_PART(type, Element, Vector)                                                     \
  TUTTI_EXPORT void tutti_rare_store_part_##type(uint64_t address, uint32_t mask, Vector values) { \
    StorePart<Element>(address, mask, values);                                                     \
  }

TUTTI_RARE_PART(i32, uint32_t, I32)
TUTTI_RARE_PART(i64, uint64_t, I64)
