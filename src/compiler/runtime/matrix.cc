// mma.sync: a warp multiplies small matrices whose elements are spread over its lanes.
//
// By the PTX ISA lane l = 4 g + t of the warp holds, of the accumulator's 16 x 8 (or 8 x 8) elements, those in row g
// (and g + 8) and columns 2 t and 2 t + 1; of A the rows g (and g + 8); of B column g. Along k a register holds e
// neighbours (2 halves, 4 bytes, 8 nibbles, 1 word), the four lanes of a quad 4 e of them, and further registers follow
// at that distance. Single bits are words here, multiplied 32 at a time.
//
// So for each k the element of A that a lane needs lies in its own quad, at the same place in each quad, and that of B
// in the lanes of a column: both are permutations known at build time, and what remains is one multiply-add of 32 lanes
// per accumulator register, exactly as many as the product has.
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
  TUTTI_INLINE Number Get(I32 bits, int part) {
    return Float(part == 0 ? bits << 16 : bits & static_cast<int32_t>(0xffff0000));
  }
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
// Integers of `width` bits, the first in the lowest.
template <int width, bool is_signed>
struct Integer {
  static constexpr int kPerRegister = 32 / width;
  typedef I32 Number;
  TUTTI_INLINE Number Get(I32 bits, int part) {
    if constexpr (is_signed) return bits << (32 - width - width * part) >> (32 - width);
    return bits >> (width * part) & ((1 << width) - 1);
  }
};
typedef Integer<8, true> Signed8;
typedef Integer<8, false> Unsigned8;
typedef Integer<4, true> Signed4;
typedef Integer<4, false> Unsigned4;
// 8-bit floats: e5m2 is the upper half of a half; e4m3 as one is 2^8 too small, and has one NaN.
struct E5M2 {
  static constexpr int kPerRegister = 4;
  typedef F32 Number;
  TUTTI_INLINE Number Get(I32 bits, int part) {
    return Half::Get(__builtin_bit_cast(I32, (__builtin_bit_cast(U32, bits) >> (8 * part) & 255) << 8), 0);
  }
};
struct E4M3 {
  static constexpr int kPerRegister = 4;
  typedef F32 Number;
  TUTTI_INLINE Number Get(I32 bits, int part) {
    const U32 code = __builtin_bit_cast(U32, bits) >> (8 * part) & 255, rest = code & 127;
    const F32 value = Half::Get(__builtin_bit_cast(I32, (code & 128) << 8 | rest << 7), 0) * 256.0f;
    const I32 quiet = __builtin_bit_cast(I32, value) | 0x7fc00000;
    return Float(rest == 127 ? quiet : __builtin_bit_cast(I32, value));
  }
};
struct SingleBits {
  static constexpr int kPerRegister = 1;
  typedef I32 Number;
  TUTTI_INLINE Number Get(I32 bits, int) { return bits; }
};

TUTTI_INLINE F32 Accumulate(F32 a, F32 b, F32 sum) { return MulAdd(a, b, sum); }
TUTTI_INLINE F64 Accumulate(F64 a, F64 b, F64 sum) { return __builtin_elementwise_fma(a, b, sum); }
TUTTI_INLINE I32 Accumulate(I32 a, I32 b, I32 sum) {
  return __builtin_bit_cast(I32,
                            __builtin_bit_cast(U32, a) * __builtin_bit_cast(U32, b) + __builtin_bit_cast(U32, sum));
}

// How a product is added: multiplied, or the bits that both (or one of the two) have counted.
struct MultiplyAdd {
  template <typename V>
  TUTTI_INLINE V Add(V a, V b, V sum) {
    return Accumulate(a, b, sum);
  }
};
TUTTI_INLINE I32 CountBits(I32 bits) {
  U32 x = __builtin_bit_cast(U32, bits);
  x = x - (x >> 1 & 0x55555555);
  x = (x & 0x33333333) + (x >> 2 & 0x33333333);
  x = (x + (x >> 4)) & 0x0f0f0f0f;
  return __builtin_bit_cast(I32, x * 0x01010101 >> 24);
}
struct AndCount {
  TUTTI_INLINE I32 Add(I32 a, I32 b, I32 sum) { return sum + CountBits(a & b); }
};
struct XorCount {
  TUTTI_INLINE I32 Add(I32 a, I32 b, I32 sum) { return sum + CountBits(a ^ b); }
};

// One step of k: sums[2 h + odd] += A[g + 8 h][k] * B[k][2 t + odd]. Without a loop: the sums stay in registers.
template <typename A, typename B, typename Sum, int kHalves, int kK, typename Registers, typename V>
TUTTI_INLINE void Step(const Registers* a, const Registers* b, V* sums) {
  constexpr int kPer = A::kPerRegister;
  constexpr int kPart = kK % kPer, kT = kK % (4 * kPer) / kPer, kFar = kK / (4 * kPer);
  const V column = B::Get(b[kFar], kPart);
  const V even = OfColumn<kT, 0>(column, Lanes()), odd = OfColumn<kT, 1>(column, Lanes());
  const V row = OfQuad<kT>(A::Get(a[kFar * kHalves], kPart), Lanes());
  sums[0] = Sum::Add(row, even, sums[0]);
  sums[1] = Sum::Add(row, odd, sums[1]);
  if constexpr (kHalves == 2) {
    const V further = OfQuad<kT>(A::Get(a[kFar * kHalves + 1], kPart), Lanes());
    sums[2] = Sum::Add(further, even, sums[2]);
    sums[3] = Sum::Add(further, odd, sums[3]);
  }
}

template <typename A, typename B, typename Sum, int kHalves, typename Registers, typename V, int... kK>
TUTTI_INLINE void Multiply(const Registers* a, const Registers* b, V* sums, Sequence<kK...>) {
  (Step<A, B, Sum, kHalves, kK>(a, b, sums), ...);
}
template <typename A, typename B, int kHalves, int kDepth, typename Sum = MultiplyAdd, typename Registers, typename V>
TUTTI_INLINE void Multiply(const Registers* a, const Registers* b, V* sums) {
  Multiply<A, B, Sum, kHalves>(a, b, sums, typename MakeSequence<kDepth>::Type());
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
struct F64x4 {
  F64 v0, v1, v2, v3;
};

// tutti_mma_<shape>_<accumulator>_<element>(A's registers, B's, C's): D. As the PTX ISA numbers them; float
// accumulators as float, packed halves as 32 bits, which are summed in single precision and rounded once.
#define TUTTI_MMA_DEEP(name, A, B, kDepth)                                                                    \
  TUTTI_EXPORT F32x4 tutti_mma_##name(I32 a0, I32 a1, I32 a2, I32 a3, I32 b0, I32 b1, F32 c0, F32 c1, F32 c2, \
                                      F32 c3) {                                                               \
    const I32 a[] = {a0, a1, a2, a3}, b[] = {b0, b1};                                                         \
    F32 sums[] = {c0, c1, c2, c3};                                                                            \
    Multiply<A, B, 2, kDepth>(a, b, sums);                                                                    \
    return {sums[0], sums[1], sums[2], sums[3]};                                                              \
  }
#define TUTTI_MMA_SHALLOW(name, A, B, kDepth)                                                   \
  TUTTI_EXPORT F32x4 tutti_mma_##name(I32 a0, I32 a1, I32 b0, F32 c0, F32 c1, F32 c2, F32 c3) { \
    const I32 a[] = {a0, a1}, b[] = {b0};                                                       \
    F32 sums[] = {c0, c1, c2, c3};                                                              \
    Multiply<A, B, 2, kDepth>(a, b, sums);                                                      \
    return {sums[0], sums[1], sums[2], sums[3]};                                                \
  }
#define TUTTI_MMA_HALVES_DEEP(name, A, B, kDepth)                                                       \
  TUTTI_EXPORT I32x2 tutti_mma_##name(I32 a0, I32 a1, I32 a2, I32 a3, I32 b0, I32 b1, I32 c0, I32 c1) { \
    const I32 a[] = {a0, a1, a2, a3}, b[] = {b0, b1};                                                   \
    F32 sums[] = {Half::Get(c0, 0), Half::Get(c0, 1), Half::Get(c1, 0), Half::Get(c1, 1)};              \
    Multiply<A, B, 2, kDepth>(a, b, sums);                                                              \
    return {PackHalves(sums[0], sums[1]), PackHalves(sums[2], sums[3])};                                \
  }
#define TUTTI_MMA_HALVES_SHALLOW(name, A, B, kDepth)                                       \
  TUTTI_EXPORT I32x2 tutti_mma_##name(I32 a0, I32 a1, I32 b0, I32 c0, I32 c1) {            \
    const I32 a[] = {a0, a1}, b[] = {b0};                                                  \
    F32 sums[] = {Half::Get(c0, 0), Half::Get(c0, 1), Half::Get(c1, 0), Half::Get(c1, 1)}; \
    Multiply<A, B, 2, kDepth>(a, b, sums);                                                 \
    return {PackHalves(sums[0], sums[1]), PackHalves(sums[2], sums[3])};                   \
  }
TUTTI_MMA_DEEP(m16n8k16_f32_f16, Half, Half, 16)
TUTTI_MMA_DEEP(m16n8k16_f32_bf16, Brain, Brain, 16)
TUTTI_MMA_DEEP(m16n8k8_f32_tf32, Tf32, Tf32, 8)
TUTTI_MMA_SHALLOW(m16n8k8_f32_f16, Half, Half, 8)
TUTTI_MMA_SHALLOW(m16n8k8_f32_bf16, Brain, Brain, 8)
TUTTI_MMA_SHALLOW(m16n8k4_f32_tf32, Tf32, Tf32, 4)
TUTTI_MMA_HALVES_DEEP(m16n8k16_f16_f16, Half, Half, 16)
TUTTI_MMA_HALVES_SHALLOW(m16n8k8_f16_f16, Half, Half, 8)

#define TUTTI_MMA_FLOATS_OF_BYTES(types, A, B)          \
  TUTTI_MMA_DEEP(m16n8k32_f32_##types, A, B, 32)        \
  TUTTI_MMA_SHALLOW(m16n8k16_f32_##types, A, B, 16)     \
  TUTTI_MMA_HALVES_DEEP(m16n8k32_f16_##types, A, B, 32) \
  TUTTI_MMA_HALVES_SHALLOW(m16n8k16_f16_##types, A, B, 16)
TUTTI_MMA_FLOATS_OF_BYTES(e4m3_e4m3, E4M3, E4M3)
TUTTI_MMA_FLOATS_OF_BYTES(e4m3_e5m2, E4M3, E5M2)
TUTTI_MMA_FLOATS_OF_BYTES(e5m2_e4m3, E5M2, E4M3)
TUTTI_MMA_FLOATS_OF_BYTES(e5m2_e5m2, E5M2, E5M2)

TUTTI_EXPORT F64x2 tutti_mma_m8n8k4_f64_f64(F64 a, F64 b, F64 c0, F64 c1) {
  F64 sums[] = {c0, c1};
  Multiply<Double, Double, 1, 4>(&a, &b, sums);
  return {sums[0], sums[1]};
}
TUTTI_EXPORT F64x4 tutti_mma_m16n8k4_f64_f64(F64 a0, F64 a1, F64 b0, F64 c0, F64 c1, F64 c2, F64 c3) {
  const F64 a[] = {a0, a1}, b[] = {b0};
  F64 sums[] = {c0, c1, c2, c3};
  Multiply<Double, Double, 2, 4>(a, b, sums);
  return {sums[0], sums[1], sums[2], sums[3]};
}
TUTTI_EXPORT F64x4 tutti_mma_m16n8k8_f64_f64(F64 a0, F64 a1, F64 a2, F64 a3, F64 b0, F64 b1, F64 c0, F64 c1, F64 c2,
                                             F64 c3) {
  const F64 a[] = {a0, a1, a2, a3}, b[] = {b0, b1};
  F64 sums[] = {c0, c1, c2, c3};
  Multiply<Double, Double, 2, 8>(a, b, sums);
  return {sums[0], sums[1], sums[2], sums[3]};
}
TUTTI_EXPORT F64x4 tutti_mma_m16n8k16_f64_f64(F64 a0, F64 a1, F64 a2, F64 a3, F64 a4, F64 a5, F64 a6, F64 a7, F64 b0,
                                              F64 b1, F64 b2, F64 b3, F64 c0, F64 c1, F64 c2, F64 c3) {
  const F64 a[] = {a0, a1, a2, a3, a4, a5, a6, a7}, b[] = {b0, b1, b2, b3};
  F64 sums[] = {c0, c1, c2, c3};
  Multiply<Double, Double, 2, 16>(a, b, sums);
  return {sums[0], sums[1], sums[2], sums[3]};
}

// Of integers: three sizes of each kind, whose depths are as 4 : 2 : 2.
#define TUTTI_MMA_INTEGERS(deep, shallow, small, types, A, B, Sum, kDeep, kShallow)                                 \
  TUTTI_EXPORT I32x4 tutti_mma_##deep##_s32_##types(I32 a0, I32 a1, I32 a2, I32 a3, I32 b0, I32 b1, I32 c0, I32 c1, \
                                                    I32 c2, I32 c3) {                                               \
    const I32 a[] = {a0, a1, a2, a3}, b[] = {b0, b1};                                                               \
    I32 sums[] = {c0, c1, c2, c3};                                                                                  \
    Multiply<A, B, 2, kDeep, Sum>(a, b, sums);                                                                      \
    return {sums[0], sums[1], sums[2], sums[3]};                                                                    \
  }                                                                                                                 \
  TUTTI_EXPORT I32x4 tutti_mma_##shallow##_s32_##types(I32 a0, I32 a1, I32 b0, I32 c0, I32 c1, I32 c2, I32 c3) {    \
    const I32 a[] = {a0, a1}, b[] = {b0};                                                                           \
    I32 sums[] = {c0, c1, c2, c3};                                                                                  \
    Multiply<A, B, 2, kShallow, Sum>(a, b, sums);                                                                   \
    return {sums[0], sums[1], sums[2], sums[3]};                                                                    \
  }                                                                                                                 \
  TUTTI_EXPORT I32x2 tutti_mma_##small##_s32_##types(I32 a, I32 b, I32 c0, I32 c1) {                                \
    I32 sums[] = {c0, c1};                                                                                          \
    Multiply<A, B, 1, kShallow, Sum>(&a, &b, sums);                                                                 \
    return {sums[0], sums[1]};                                                                                      \
  }
#define TUTTI_MMA_BYTES(types, A, B) TUTTI_MMA_INTEGERS(m16n8k32, m16n8k16, m8n8k16, types, A, B, MultiplyAdd, 32, 16)
TUTTI_MMA_BYTES(s8_s8, Signed8, Signed8)
TUTTI_MMA_BYTES(s8_u8, Signed8, Unsigned8)
TUTTI_MMA_BYTES(u8_s8, Unsigned8, Signed8)
TUTTI_MMA_BYTES(u8_u8, Unsigned8, Unsigned8)
#define TUTTI_MMA_NIBBLES(types, A, B) TUTTI_MMA_INTEGERS(m16n8k64, m16n8k32, m8n8k32, types, A, B, MultiplyAdd, 64, 32)
TUTTI_MMA_NIBBLES(s4_s4, Signed4, Signed4)
TUTTI_MMA_NIBBLES(s4_u4, Signed4, Unsigned4)
TUTTI_MMA_NIBBLES(u4_s4, Unsigned4, Signed4)
TUTTI_MMA_NIBBLES(u4_u4, Unsigned4, Unsigned4)
TUTTI_MMA_INTEGERS(m16n8k256, m16n8k128, m8n8k128, b1_and, SingleBits, SingleBits, AndCount, 8, 4)
TUTTI_MMA_INTEGERS(m16n8k256, m16n8k128, m8n8k128, b1_xor, SingleBits, SingleBits, XorCount, 8, 4)
