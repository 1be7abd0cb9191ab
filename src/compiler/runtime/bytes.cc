// Words of four bytes: dot products, choices of bytes, distances and the like of each byte. Processors have instructions for
// the first two, which take these functions' place (link/byte_products.h, link/byte_choices.h).
#include "compiler/runtime/vector.h"

using namespace tutti::guest_runtime;

namespace {

typedef int8_t Signed __attribute__((ext_vector_type(4 * TUTTI_LANES)));
typedef uint8_t Unsigned __attribute__((ext_vector_type(4 * TUTTI_LANES)));
typedef int16_t Halves __attribute__((ext_vector_type(2 * TUTTI_LANES)));
typedef uint16_t UnsignedHalves __attribute__((ext_vector_type(2 * TUTTI_LANES)));
typedef int32_t Products __attribute__((ext_vector_type(2 * TUTTI_LANES)));

template <typename T, T... kIndices>
struct Indices {};
template <int... kIndices>
TUTTI_INLINE I32 SumOfPairs(Products x, Indices<int, kIndices...>) {
  return __builtin_shufflevector(x, x, (2 * kIndices)...) + __builtin_shufflevector(x, x, (2 * kIndices + 1)...);
}

// Two products of each lane, added up: an instruction where 16 bits hold the factors.
TUTTI_INLINE I32 Dot(Halves a, Halves b) {
  return SumOfPairs(__builtin_convertvector(a, Products) * __builtin_convertvector(b, Products),
                    __make_integer_seq<Indices, int, TUTTI_LANES>());
}

template <typename Byte>
TUTTI_INLINE Halves Even(I32 x) {
  const Halves halves = __builtin_bit_cast(Halves, x);
  return Byte(-1) < 0 ? Halves(halves << 8) >> 8 : halves & Halves(255);
}
template <typename Byte>
TUTTI_INLINE Halves Odd(I32 x) {
  return Byte(-1) < 0 ? __builtin_bit_cast(Halves, x) >> 8
                      : __builtin_bit_cast(Halves, __builtin_bit_cast(UnsignedHalves, x) >> 8);
}

template <typename A, typename B>
TUTTI_INLINE I32 DotOfBytes(I32 a, I32 b, I32 c) {
  return c + Dot(Even<A>(a), Even<B>(b)) + Dot(Odd<A>(a), Odd<B>(b));
}

template <typename Bytes>
TUTTI_INLINE Bytes Of(I32 x) {
  return __builtin_bit_cast(Bytes, x);
}
template <typename Bytes>
TUTTI_INLINE I32 Word(Bytes x) {
  return __builtin_bit_cast(I32, x);
}

template <typename Bytes>
TUTTI_INLINE I32 Least(I32 a, I32 b) {
  return Word(__builtin_elementwise_min(Of<Bytes>(a), Of<Bytes>(b)));
}
template <typename Bytes>
TUTTI_INLINE I32 Most(I32 a, I32 b) {
  return Word(__builtin_elementwise_max(Of<Bytes>(a), Of<Bytes>(b)));
}
template <typename Bytes>
TUTTI_INLINE I32 Distance(I32 a, I32 b) {
  return Word(Of<Unsigned>(Most<Bytes>(a, b)) - Of<Unsigned>(Least<Bytes>(a, b)));
}

}  // namespace

TUTTI_EXPORT TUTTI_IN_PLACE I32 tutti_v_dp4a_s8_s8(I32 a, I32 b, I32 c) { return DotOfBytes<int8_t, int8_t>(a, b, c); }
TUTTI_EXPORT TUTTI_IN_PLACE I32 tutti_v_dp4a_u8_u8(I32 a, I32 b, I32 c) {
  return DotOfBytes<uint8_t, uint8_t>(a, b, c);
}
TUTTI_EXPORT TUTTI_IN_PLACE I32 tutti_v_dp4a_u8_s8(I32 a, I32 b, I32 c) {
  return DotOfBytes<uint8_t, int8_t>(a, b, c);
}

TUTTI_EXPORT TUTTI_IN_PLACE I32 tutti_v_distance_s8(I32 a, I32 b) { return Distance<Signed>(a, b); }
TUTTI_EXPORT TUTTI_IN_PLACE I32 tutti_v_distance_u8(I32 a, I32 b) { return Distance<Unsigned>(a, b); }
TUTTI_EXPORT TUTTI_IN_PLACE I32 tutti_v_least_s8(I32 a, I32 b) { return Least<Signed>(a, b); }
TUTTI_EXPORT TUTTI_IN_PLACE I32 tutti_v_least_u8(I32 a, I32 b) { return Least<Unsigned>(a, b); }
TUTTI_EXPORT TUTTI_IN_PLACE I32 tutti_v_most_s8(I32 a, I32 b) { return Most<Signed>(a, b); }
TUTTI_EXPORT TUTTI_IN_PLACE I32 tutti_v_most_u8(I32 a, I32 b) { return Most<Unsigned>(a, b); }

// Byte i of the result is the one of the eight of {b:a} that the low three bits of digit i of `selector` name, or its sign
// repeated if the digit's bit 3 is set.
TUTTI_EXPORT I32 tutti_v_prmt(I32 a, I32 b, I32 selector) {
  I32 result = {};
  for (int i = 0; i < 4; ++i) {
    const I32 digit = selector >> (4 * i);
    const I32 word = (digit & 4) != 0 ? b : a;
    const I32 at_top = word << (24 - ((digit & 3) << 3));
    const I32 byte = (digit & 8) != 0 ? at_top >> 31 : at_top >> 24;
    result |= (byte & 255) << (8 * i);
  }
  return result;
}
