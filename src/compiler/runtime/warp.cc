// Operations across the lanes of a warp that have no vector instruction. `mask` is the set of participating lanes; what
// the others get is unspecified but defined.
#include "compiler/runtime/vector.h"

using namespace tutti::guest_runtime;

namespace {

// Equal lanes as a mask, of two vectors.
template <typename V>
TUTTI_INLINE uint32_t EqualLanes(V a, V b) {
  typedef bool Mask __attribute__((ext_vector_type(TUTTI_LANES)));
  return __builtin_bit_cast(uint32_t, __builtin_convertvector(a == b, Mask));
}

template <typename V>
using ElementOf = decltype(V()[0] + 0);

// One round per distinct value, each of which waits for the one before; where there are more than a few, one for each
// lane, which wait for nothing.
template <typename V>
TUTTI_INLINE I32 MatchAny(uint32_t mask, V value) {
  constexpr uint32_t kFew = 4;
  ElementOf<V> values[TUTTI_LANES];
  __builtin_memcpy(values, &value, sizeof values);
  I32 result = {};
  uint32_t rest = mask;
  for (uint32_t round = 0; rest != 0 && round < kFew; ++round) {
    const V first = V(values[__builtin_ctz(rest)]);
    const uint32_t equal = EqualLanes(value, first) & mask;
    result = __builtin_convertvector(value == first, I32) != 0 ? I32(static_cast<int32_t>(equal)) : result;
    rest &= ~equal;
  }
  if (rest == 0) return result;
  uint32_t results[TUTTI_LANES];
  for (uint32_t lane = 0; lane < TUTTI_LANES; ++lane) results[lane] = EqualLanes(value, V(values[lane])) & mask;
  return __builtin_bit_cast(I32, results);
}

template <typename V>
TUTTI_INLINE uint32_t MatchAll(uint32_t mask, V value) {
  if (mask == 0) return 0;
  const uint32_t lane = static_cast<uint32_t>(__builtin_ctz(mask));
  return (EqualLanes(value, V(value[lane])) & mask) == mask ? mask : 0;
}

}  // namespace

TUTTI_EXPORT I32 tutti_match_any_i32(uint32_t mask, I32 value) { return MatchAny(mask, value); }
TUTTI_EXPORT I32 tutti_match_any_i64(uint32_t mask, I64 value) { return MatchAny(mask, value); }
// All lanes of `mask` if their values are equal, else 0.
TUTTI_EXPORT uint32_t tutti_match_all_i32(uint32_t mask, I32 value) { return MatchAll(mask, value); }
TUTTI_EXPORT uint32_t tutti_match_all_i64(uint32_t mask, I64 value) { return MatchAll(mask, value); }

// value[index & 31] of each lane.
TUTTI_EXPORT I32 tutti_permute_i32(I32 value, I32 index) {
  uint32_t from[TUTTI_LANES], at[TUTTI_LANES], to[TUTTI_LANES];
  __builtin_memcpy(from, &value, sizeof from);
  __builtin_memcpy(at, &index, sizeof at);
  for (uint32_t lane = 0; lane < TUTTI_LANES; ++lane) to[lane] = from[at[lane] & 31];
  return __builtin_bit_cast(I32, to);
}
