// Words of four bytes: dot products, choices of bytes, distances and the like of each byte. Processors have
// instructions for the first two, which take these functions' place (link/byte_words.h).
#include "compiler/runtime/vector.h"

using namespace tutti::guest_runtime;

namespace {

typedef int8_t Signed __attribute__((ext_vector_type(4 * TUTTI_LANES)));
typedef uint8_t Unsigned __attribute__((ext_vector_type(4 * TUTTI_LANES)));

template <typename Byte>
TUTTI_INLINE I32 Extended(I32 x, int i) {
  const I32 at_top = x << (24 - 8 * i);
  return Byte(-1) < 0 ? at_top >> 24 : __builtin_bit_cast(I32, __builtin_bit_cast(U32, at_top) >> 24);
}

template <typename A, typename B>
TUTTI_INLINE I32 DotOfBytes(I32 a, I32 b, I32 c) {
  for (int i = 0; i < 4; ++i) c += Extended<A>(a, i) * Extended<B>(b, i);
  return c;
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
TUTTI_EXPORT TUTTI_IN_PLACE I32 tutti_v_dp4a_u8_s8(I32 a, I32 b, I32 c) { return DotOfBytes<uint8_t, int8_t>(a, b, c); }

TUTTI_EXPORT TUTTI_IN_PLACE I32 tutti_v_distance_s8(I32 a, I32 b) { return Distance<Signed>(a, b); }
TUTTI_EXPORT TUTTI_IN_PLACE I32 tutti_v_distance_u8(I32 a, I32 b) { return Distance<Unsigned>(a, b); }
TUTTI_EXPORT TUTTI_IN_PLACE I32 tutti_v_least_s8(I32 a, I32 b) { return Least<Signed>(a, b); }
TUTTI_EXPORT TUTTI_IN_PLACE I32 tutti_v_least_u8(I32 a, I32 b) { return Least<Unsigned>(a, b); }
TUTTI_EXPORT TUTTI_IN_PLACE I32 tutti_v_most_s8(I32 a, I32 b) { return Most<Signed>(a, b); }
TUTTI_EXPORT TUTTI_IN_PLACE I32 tutti_v_most_u8(I32 a, I32 b) { return Most<Unsigned>(a, b); }

// Byte i of the result is the one of the eight of {b:a} that the low three bits of digit i of `selector` name, or its
// sign repeated if the digit's bit 3 is set.
TUTTI_EXPORT TUTTI_IN_PLACE I32 tutti_v_prmt(I32 a, I32 b, I32 selector) {
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
