// mma.sync: a warp multiplies small matrices whose elements are spread over its lanes.
//
// By the PTX ISA lane l = 4 g + t of the warp holds, of the accumulator's 16 x 8 (or 8 x 8) elements, those in row g (and
// g + 8) and columns 2 t and 2 t + 1; of A the rows g (and g + 8); of B column g. Along k a register holds e neighbours
// (2 halves, 4 bytes, 1 word), the four lanes of a quad 4 e of them, and further registers follow at that distance.
//
// So for each k the element of A that a lane needs lies in its own quad, at the same place in each quad, and that of B in
// the lanes of a column: both are permutations known when this is compiled, and what remains is one multiply-add of 32
// lanes per accumulator register. That is as many multiply-adds as the product has, none wasted.
//
// Products are exact; sums are rounded to the accumulator's type after every addition, in the order of k.
#include "compiler/runtime/vector.h"

using namespace tutti::guest_runtime;

typedef _Float16 H32 __attribute__((ext_vector_type(TUTTI_LANES)));
typedef uint16_t U16 __attribute__((ext_vector_type(TUTTI_LANES)));

namespace {

template <int... kIndex>
struct Sequence {};
template <int kCount, int... kIndex>
struct MakeSequence : MakeSequence<kCount - 1, kCount - 1, kIndex...> {};
template <int... kIndex>
struct MakeSequence<0, kIndex...> {
  typedef Sequence<kIndex...> Type;
};
typedef MakeSequence<TUTTI_LANES>::Type Lanes;

// Lane l takes the value of lane 4 (l / 4) + kT.
template <int kT, typename V, int... kLane>
TUTTI_INLINE V OfQuad(V value, Sequence<kLane...>) {
  return __builtin_shufflevector(value, value, ((kLane & ~3) | kT)...);
}
// Lane l takes the value of lane kT of the quad number 2 (l mod 4) + kOdd: the column of its accumulator.
template <int kT, int kOdd, typename V, int... kLane>
TUTTI_INLINE V OfColumn(V value, Sequence<kLane...>) {
  return __builtin_shufflevector(value, value, (((kLane & 3) * 2 + kOdd) * 4 + kT)...);
}

// Element `part` of each lane's register, as a number to calculate with.
struct Half {
  static constexpr int kPerRegister = 2;
  typedef F32 Number;
  TUTTI_INLINE Number Get(I32 bits, int part) {
    const U16 half = __builtin_convertvector(__builtin_bit_cast(U32, bits) >> (16 * part), U16);
    return __builtin_convertvector(__builtin_bit_cast(H32, half), F32);
  }
};
struct Brain {
  static constexpr int kPerRegister = 2;
  typedef F32 Number;
  TUTTI_INLINE Number Get(I32 bits, int part) { return Float(part == 0 ? bits << 16 : bits & static_cast<int32_t>(0xffff0000)); }
};
struct Tf32 {
  static constexpr int kPerRegister = 1;
  typedef F32 Number;
  TUTTI_INLINE Number Get(I32 bits, int) { return Float(bits & static_cast<int32_t>(0xffffe000)); }
};
struct Double {
  static constexpr int kPerRegister = 1;
  typedef F64 Number;
  TUTTI_INLINE Number Get(F64 value, int) { return value; }
};
struct Signed8 {
  static constexpr int kPerRegister = 4;
  typedef I32 Number;
  TUTTI_INLINE Number Get(I32 bits, int part) { return bits << (24 - 8 * part) >> 24; }
};
struct Unsigned8 {
  static constexpr int kPerRegister = 4;
  typedef I32 Number;
  TUTTI_INLINE Number Get(I32 bits, int part) { return bits >> (8 * part) & 255; }
};

TUTTI_INLINE F32 Accumulate(F32 a, F32 b, F32 sum) { return MulAdd(a, b, sum); }
TUTTI_INLINE F64 Accumulate(F64 a, F64 b, F64 sum) { return __builtin_elementwise_fma(a, b, sum); }
TUTTI_INLINE I32 Accumulate(I32 a, I32 b, I32 sum) {
  return __builtin_bit_cast(I32, __builtin_bit_cast(U32, a) * __builtin_bit_cast(U32, b) + __builtin_bit_cast(U32, sum));
}

// One step of k: sums[2 h + odd] += A[g + 8 h][k] * B[k][2 t + odd].
template <typename A, typename B, int kHalves, int kK, typename Registers, typename V>
TUTTI_INLINE void Step(const Registers* a, const Registers* b, V* sums) {
  constexpr int kPer = A::kPerRegister;
  constexpr int kPart = kK % kPer, kT = kK % (4 * kPer) / kPer, kFar = kK / (4 * kPer);
  const V column = B::Get(b[kFar], kPart);
  const V even = OfColumn<kT, 0>(column, Lanes()), odd = OfColumn<kT, 1>(column, Lanes());
  for (int h = 0; h < kHalves; ++h) {
    const V row = OfQuad<kT>(A::Get(a[kFar * kHalves + h], kPart), Lanes());
    sums[2 * h] = Accumulate(row, even, sums[2 * h]);
    sums[2 * h + 1] = Accumulate(row, odd, sums[2 * h + 1]);
  }
}

template <typename A, typename B, int kHalves, typename Registers, typename V, int... kK>
TUTTI_INLINE void Multiply(const Registers* a, const Registers* b, V* sums, Sequence<kK...>) {
  (Step<A, B, kHalves, kK>(a, b, sums), ...);
}
template <typename A, typename B, int kHalves, int kDepth, typename Registers, typename V>
TUTTI_INLINE void Multiply(const Registers* a, const Registers* b, V* sums) {
  Multiply<A, B, kHalves>(a, b, sums, typename MakeSequence<kDepth>::Type());
}

TUTTI_INLINE I32 PackHalves(F32 low, F32 high) {
  const auto bits = [](F32 x) __attribute__((always_inline)) {
    return __builtin_convertvector(__builtin_bit_cast(U16, __builtin_convertvector(x, H32)), U32);
  };
  return __builtin_bit_cast(I32, bits(low) | bits(high) << 16);
}

}  // namespace

struct F32x4 {
  F32 v0, v1, v2, v3;
};
struct I32x4 {
  I32 v0, v1, v2, v3;
};
struct I32x2 {
  I32 v0, v1;
};
struct F64x2 {
  F64 v0, v1;
};

// tutti_mma_<shape>_<accumulator>_<element>(A's registers, B's, C's): D. As the PTX ISA numbers them; float accumulators
// as float, packed halves as 32 bits.
#define TUTTI_MMA_DEEP(name, Element, kDepth)                                                                            \
  TUTTI_EXPORT F32x4 tutti_mma_##name(I32 a0, I32 a1, I32 a2, I32 a3, I32 b0, I32 b1, F32 c0, F32 c1, F32 c2, F32 c3) { \
    const I32 a[] = {a0, a1, a2, a3}, b[] = {b0, b1};                                                                    \
    F32 sums[] = {c0, c1, c2, c3};                                                                                       \
    Multiply<Element, Element, 2, kDepth>(a, b, sums);                                                                   \
    return {sums[0], sums[1], sums[2], sums[3]};                                                                         \
  }
#define TUTTI_MMA_SHALLOW(name, Element, kDepth)                                                     \
  TUTTI_EXPORT F32x4 tutti_mma_##name(I32 a0, I32 a1, I32 b0, F32 c0, F32 c1, F32 c2, F32 c3) {     \
    const I32 a[] = {a0, a1}, b[] = {b0};                                                            \
    F32 sums[] = {c0, c1, c2, c3};                                                                   \
    Multiply<Element, Element, 2, kDepth>(a, b, sums);                                               \
    return {sums[0], sums[1], sums[2], sums[3]};                                                     \
  }
TUTTI_MMA_DEEP(m16n8k16_f32_f16, Half, 16)
TUTTI_MMA_DEEP(m16n8k16_f32_bf16, Brain, 16)
TUTTI_MMA_DEEP(m16n8k8_f32_tf32, Tf32, 8)
TUTTI_MMA_SHALLOW(m16n8k8_f32_f16, Half, 8)
TUTTI_MMA_SHALLOW(m16n8k8_f32_bf16, Brain, 8)
TUTTI_MMA_SHALLOW(m16n8k4_f32_tf32, Tf32, 4)

// With halves as accumulators: summed in single precision, rounded once.
TUTTI_EXPORT I32x2 tutti_mma_m16n8k16_f16_f16(I32 a0, I32 a1, I32 a2, I32 a3, I32 b0, I32 b1, I32 c0, I32 c1) {
  const I32 a[] = {a0, a1, a2, a3}, b[] = {b0, b1};
  F32 sums[] = {Half::Get(c0, 0), Half::Get(c0, 1), Half::Get(c1, 0), Half::Get(c1, 1)};
  Multiply<Half, Half, 2, 16>(a, b, sums);
  return {PackHalves(sums[0], sums[1]), PackHalves(sums[2], sums[3])};
}
TUTTI_EXPORT I32x2 tutti_mma_m16n8k8_f16_f16(I32 a0, I32 a1, I32 b0, I32 c0, I32 c1) {
  const I32 a[] = {a0, a1}, b[] = {b0};
  F32 sums[] = {Half::Get(c0, 0), Half::Get(c0, 1), Half::Get(c1, 0), Half::Get(c1, 1)};
  Multiply<Half, Half, 2, 8>(a, b, sums);
  return {PackHalves(sums[0], sums[1]), PackHalves(sums[2], sums[3])};
}

TUTTI_EXPORT F64x2 tutti_mma_m8n8k4_f64_f64(F64 a, F64 b, F64 c0, F64 c1) {
  F64 sums[] = {c0, c1};
  Multiply<Double, Double, 1, 4>(&a, &b, sums);
  return {sums[0], sums[1]};
}

#define TUTTI_MMA_BYTES(types, A, B)                                                                                     \
  TUTTI_EXPORT I32x4 tutti_mma_m16n8k32_s32_##types(I32 a0, I32 a1, I32 a2, I32 a3, I32 b0, I32 b1, I32 c0, I32 c1, I32 c2, \
                                                    I32 c3) {                                                            \
    const I32 a[] = {a0, a1, a2, a3}, b[] = {b0, b1};                                                                    \
    I32 sums[] = {c0, c1, c2, c3};                                                                                       \
    Multiply<A, B, 2, 32>(a, b, sums);                                                                                   \
    return {sums[0], sums[1], sums[2], sums[3]};                                                                         \
  }                                                                                                                      \
  TUTTI_EXPORT I32x4 tutti_mma_m16n8k16_s32_##types(I32 a0, I32 a1, I32 b0, I32 c0, I32 c1, I32 c2, I32 c3) {             \
    const I32 a[] = {a0, a1}, b[] = {b0};                                                                                \
    I32 sums[] = {c0, c1, c2, c3};                                                                                       \
    Multiply<A, B, 2, 16>(a, b, sums);                                                                                   \
    return {sums[0], sums[1], sums[2], sums[3]};                                                                         \
  }                                                                                                                      \
  TUTTI_EXPORT I32x2 tutti_mma_m8n8k16_s32_##types(I32 a, I32 b, I32 c0, I32 c1) {                                        \
    I32 sums[] = {c0, c1};                                                                                               \
    Multiply<A, B, 1, 16>(&a, &b, sums);                                                                                 \
    return {sums[0], sums[1]};                                                                                           \
  }
TUTTI_MMA_BYTES(s8_s8, Signed8, Signed8)
TUTTI_MMA_BYTES(s8_u8, Signed8, Unsigned8)
TUTTI_MMA_BYTES(u8_s8, Unsigned8, Signed8)
TUTTI_MMA_BYTES(u8_u8, Unsigned8, Unsigned8)
