// Reductions of tensor elements in global memory: each element atomically, in no order, as red does.
#pragma once

#include "compiler/runtime/tensor_request.h"
#include "compiler/runtime/vector.h"
#include "guest/tensor_map.h"

namespace tutti::guest_runtime {

// Floats of 16 bits, calculated with in 32: the sum of two is exact enough to be rounded once.
struct HalfElement {
  typedef uint16_t Bits;
  typedef float Number;
  TUTTI_INLINE float Get(uint16_t bits) { return static_cast<float>(__builtin_bit_cast(_Float16, bits)); }
  TUTTI_INLINE uint16_t Put(float value) { return __builtin_bit_cast(uint16_t, static_cast<_Float16>(value)); }
};
struct BrainElement {
  typedef uint16_t Bits;
  typedef float Number;
  TUTTI_INLINE float Get(uint16_t bits) { return __builtin_bit_cast(float, static_cast<uint32_t>(bits) << 16); }
  TUTTI_INLINE uint16_t Put(float value) {
    const auto bits = __builtin_bit_cast(uint32_t, value);
    if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fff;
    return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
};
template <typename T, typename Unsigned>
struct PlainElement {
  typedef Unsigned Bits;
  typedef T Number;
  TUTTI_INLINE T Get(Unsigned bits) { return __builtin_bit_cast(T, bits); }
  TUTTI_INLINE Unsigned Put(T value) { return __builtin_bit_cast(Unsigned, value); }
};

// The pairs that the PTX ISA has.
TUTTI_INLINE bool IsReducible(TensorAction action, uint8_t type) {
  using guest::TensorType;
  const auto of = static_cast<TensorType>(type);
  const bool is_word = of == TensorType::kU32 || of == TensorType::kS32,
             is_long = of == TensorType::kU64 || of == TensorType::kS64,
             is_half = of == TensorType::kF16 || of == TensorType::kBF16;
  switch (action) {
    case TensorAction::kAdd:
      return is_word || is_long || is_half || of == TensorType::kF32 || of == TensorType::kF32Ftz;
    case TensorAction::kMin:
    case TensorAction::kMax: return is_word || is_long || is_half;
    case TensorAction::kInc:
    case TensorAction::kDec: return of == TensorType::kU32;
    default: return is_word || is_long;
  }
}

template <typename T>
TUTTI_INLINE T Sum(T a, T b) {
  if constexpr (static_cast<T>(0.5f) == 0) return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  return a + b;
}

template <typename T>
TUTTI_INLINE T Combined(TensorAction action, T old, T operand) {
  switch (action) {
    case TensorAction::kAdd: return Sum(old, operand);
    case TensorAction::kMin: return operand < old || old != old ? operand : old;
    case TensorAction::kMax: return operand > old || old != old ? operand : old;
    default: break;
  }
  if constexpr (static_cast<T>(0.5f) == 0) {  // integers
    switch (action) {
      case TensorAction::kInc: return old >= operand ? 0 : old + 1;
      case TensorAction::kDec: return old == 0 || old > operand ? operand : old - 1;
      case TensorAction::kAnd: return old & operand;
      case TensorAction::kOr: return old | operand;
      case TensorAction::kXor: return old ^ operand;
      default: break;
    }
  }
  return old;
}

template <typename Element>
TUTTI_INLINE void ReduceAs(TensorAction action, uint8_t* to, const uint8_t* values, uint32_t bytes) {
  typedef typename Element::Bits Bits;
  for (uint32_t i = 0; i < bytes; i += sizeof(Bits)) {
    Bits operand;
    __builtin_memcpy(&operand, values + i, sizeof operand);
    auto* place = reinterpret_cast<Bits*>(to + i);
    Bits old = __atomic_load_n(place, __ATOMIC_RELAXED), result;
    do {
      result = Element::Put(Combined(action, Element::Get(old), Element::Get(operand)));
    } while (!__atomic_compare_exchange_n(place, &old, result, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
  }
}

// Adds, ... each of the elements in `values` to the one in memory. The action and the type are a pair.
TUTTI_INLINE void ReduceElements(TensorAction action, uint8_t type, uint8_t* to, const uint8_t* values,
                                 uint32_t bytes) {
  using guest::TensorType;
  switch (static_cast<TensorType>(type)) {
    case TensorType::kU32: return ReduceAs<PlainElement<uint32_t, uint32_t>>(action, to, values, bytes);
    case TensorType::kS32: return ReduceAs<PlainElement<int32_t, uint32_t>>(action, to, values, bytes);
    case TensorType::kU64: return ReduceAs<PlainElement<uint64_t, uint64_t>>(action, to, values, bytes);
    case TensorType::kS64: return ReduceAs<PlainElement<int64_t, uint64_t>>(action, to, values, bytes);
    case TensorType::kF16: return ReduceAs<HalfElement>(action, to, values, bytes);
    case TensorType::kBF16: return ReduceAs<BrainElement>(action, to, values, bytes);
    default: return ReduceAs<PlainElement<float, uint32_t>>(action, to, values, bytes);
  }
}

}  // namespace tutti::guest_runtime
