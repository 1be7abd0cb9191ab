// Gathers and scatters, lane by lane, for processors without AVX-512 (and for 8- and 16-bit data on all): LLVM would
// expand each masked gather of 32 in place into 32 branches, which takes longer to compile than kernels run.
//
// Where all lanes are active there is no loop: addresses come out of registers and elements go into them. By way of the
// stack a vector of 32 bytes would wait for the stores of its elements.
//
// The addresses were checked against the client's window by the caller.
#include "compiler/runtime/vector.h"

using namespace tutti::guest_runtime;

namespace {

template <typename Integer, Integer... lane>
struct Lanes {};
using AllLanes = __make_integer_seq<Lanes, uint32_t, TUTTI_LANES>;

// What a vector holds, in memory: for lanes that are not known at compile time.
template <typename T, typename V>
struct InMemory {
  T of[TUTTI_LANES];
  explicit TUTTI_MEMBER InMemory(V vector) { __builtin_memcpy(of, &vector, sizeof of); }
  TUTTI_MEMBER T operator[](uint32_t lane) const { return of[lane]; }
};

// Where the element of a lane is.
template <typename T, typename Addresses = U64>
struct ByAddress {
  Addresses addresses;
  TUTTI_MEMBER T* operator()(uint32_t lane) const { return reinterpret_cast<T*>(addresses[lane]); }
  TUTTI_MEMBER auto InTurn() const { return ByAddress<T, InMemory<uint64_t, U64>>{InMemory<uint64_t, U64>(addresses)}; }
};
template <typename T, typename Indices = I32>
struct ByIndex {
  uint64_t base;
  Indices index;
  TUTTI_MEMBER T* operator()(uint32_t lane) const {
    return reinterpret_cast<T*>(base + static_cast<uint64_t>(static_cast<int64_t>(index[lane])) * sizeof(T));
  }
  TUTTI_MEMBER auto InTurn() const { return ByIndex<T, InMemory<int32_t, I32>>{base, InMemory<int32_t, I32>(index)}; }
};

template <typename T>
TUTTI_INLINE T Load(const T* from) {
  T value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}
template <typename T>
TUTTI_INLINE void Store(T* to, T value) {
  __builtin_memcpy(to, &value, sizeof value);
}

template <typename At, typename V, uint32_t... lane>
TUTTI_INLINE V GatherAll(At at, V to, Lanes<uint32_t, lane...>) {
  ((to[lane] = Load(at(lane))), ...);
  return to;
}
template <typename T, typename At, typename V, uint32_t... lane>
TUTTI_INLINE void ScatterAll(At at, V values, Lanes<uint32_t, lane...>) {
  (Store(at(lane), static_cast<T>(values[lane])), ...);
}

template <typename T, typename At, typename V>
TUTTI_INLINE V Gather(At at, uint32_t mask, V inactive) {
  if (mask == ~uint32_t{0}) return GatherAll(at, inactive, AllLanes{});
  T values[TUTTI_LANES];
  __builtin_memcpy(values, &inactive, sizeof values);
  const auto in_turn = at.InTurn();
  ForEachLane(mask, [&](uint32_t lane) __attribute__((always_inline)) { values[lane] = Load(in_turn(lane)); });
  __builtin_memcpy(&inactive, values, sizeof values);
  return inactive;
}

template <typename T, typename At, typename V>
TUTTI_INLINE void Scatter(At at, V data, uint32_t mask) {
  if (mask == ~uint32_t{0}) return ScatterAll<T>(at, data, AllLanes{});
  const auto in_turn = at.InTurn();
  const InMemory<T, V> values(data);
  ForEachLane(mask, [&](uint32_t lane) __attribute__((always_inline)) { Store(in_turn(lane), values[lane]); });
}

}  // namespace

// tutti_gather_<type>(addresses, mask, value of the other lanes); tutti_scatter_<type>(addresses, values, mask). Where
// two lanes name one address the higher lane wins. The same `_at` base + index * size of an element, of which the other
// lanes are 0.
#define TUTTI_LANE_MEMORY(type, Element, Vector)                                                      \
  TUTTI_EXPORT Vector tutti_gather_##type(U64 addresses, uint32_t mask, Vector inactive) {            \
    return Gather<Element>(ByAddress<Element>{addresses}, mask, inactive);                            \
  }                                                                                                   \
  TUTTI_EXPORT Vector tutti_gather_at_##type(uint64_t base, I32 index, uint32_t mask) {               \
    return Gather<Element>(ByIndex<Element>{base, index}, mask, Vector(0));                           \
  }                                                                                                   \
  TUTTI_EXPORT void tutti_scatter_##type(U64 addresses, Vector values, uint32_t mask) {               \
    Scatter<Element>(ByAddress<Element>{addresses}, values, mask);                                    \
  }                                                                                                   \
  TUTTI_EXPORT void tutti_scatter_at_##type(uint64_t base, I32 index, Vector values, uint32_t mask) { \
    Scatter<Element>(ByIndex<Element>{base, index}, values, mask);                                    \
  }

TUTTI_LANE_MEMORY(i8, uint8_t, I8)
TUTTI_LANE_MEMORY(i16, uint16_t, I16)
TUTTI_LANE_MEMORY(i32, uint32_t, I32)
TUTTI_LANE_MEMORY(i64, uint64_t, I64)
