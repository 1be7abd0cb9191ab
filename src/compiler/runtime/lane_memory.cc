// Gathers and scatters, lane by lane, for processors without AVX-512 (and for 8- and 16-bit data on all): LLVM would
// expand each masked gather of 32 in place into 32 branches, which takes longer to compile than kernels run.
//
// The addresses were checked against the client's window by the caller.
#include "compiler/runtime/vector.h"

using namespace tutti::guest_runtime;

namespace {

template <typename T, typename V>
TUTTI_INLINE V Gather(U64 addresses, uint32_t mask, V inactive) {
  T values[TUTTI_LANES];
  __builtin_memcpy(values, &inactive, sizeof values);
  uint64_t at[TUTTI_LANES];
  __builtin_memcpy(at, &addresses, sizeof at);
  ForEachLane(mask, [&](uint32_t lane) __attribute__((always_inline)) {
    __builtin_memcpy(&values[lane], reinterpret_cast<const void*>(at[lane]), sizeof(T));
  });
  __builtin_memcpy(&inactive, values, sizeof values);
  return inactive;
}

template <typename T, typename V>
TUTTI_INLINE void Scatter(U64 addresses, V data, uint32_t mask) {
  T values[TUTTI_LANES];
  __builtin_memcpy(values, &data, sizeof values);
  uint64_t at[TUTTI_LANES];
  __builtin_memcpy(at, &addresses, sizeof at);
  ForEachLane(mask, [&](uint32_t lane) __attribute__((always_inline)) {
    __builtin_memcpy(reinterpret_cast<void*>(at[lane]), &values[lane], sizeof(T));
  });
}

}  // namespace

// tutti_gather_<type>(addresses, mask, value of the other lanes); tutti_scatter_<type>(addresses, values, mask). Where
// two lanes name one address the higher lane wins.
#define TUTTI_LANE_MEMORY(type, Element, Vector)                                           \
  TUTTI_EXPORT Vector tutti_gather_##type(U64 addresses, uint32_t mask, Vector inactive) { \
    return Gather<Element>(addresses, mask, inactive);                                     \
  }                                                                                        \
  TUTTI_EXPORT void tutti_scatter_##type(U64 addresses, Vector values, uint32_t mask) {    \
    Scatter<Element>(addresses, values, mask);                                             \
  }

TUTTI_LANE_MEMORY(i8, uint8_t, I8)
TUTTI_LANE_MEMORY(i16, uint16_t, I16)
TUTTI_LANE_MEMORY(i32, uint32_t, I32)
TUTTI_LANE_MEMORY(i64, uint64_t, I64)
