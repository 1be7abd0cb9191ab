// wgmma.mma_async: four warps multiply a matrix of 64 rows by one of N columns; each warp computes its own 16 rows, at
// once.
//
// Matrices in shared memory consist of core matrices: 8 rows (of A) or columns (of B) of 16 bytes each along K, or, if
// the matrix is stored across, 8 places along K of 16 bytes each along M or N. A descriptor says how they are spread; a
// swizzle permutes the 16-byte pieces by bits 7 to 9 of their addresses. In registers A has the same core matrices:
// four lanes have the 16 bytes of a row.
//
// K is short (32 bytes), so A is expanded first: for each k and each pair of rows one vector with the first row's
// number in its lower half and the second's in its upper half. For each 8 columns a vector of the accumulator is two
// rows, and each step one multiply-add with 8 numbers of B. In its registers the accumulator has columns 2 t and
// 2 t + 1 of row g in lane 4 g + t of two registers, so that interleaving them gives rows of 8.
//
// Products are exact; sums are rounded to single precision after every addition, in the order of k.
#include "compiler/runtime/legal_address.h"
#include "compiler/runtime/warp_group_request.h"

using namespace tutti::guest_runtime;
using tutti::guest::FaultKind;
using tutti::guest::WarpState;

namespace {

template <typename T, int n>
using Vector = T __attribute__((ext_vector_type(n)));

template <int... i>
struct Indices {};
template <int n, int... i>
struct MakeIndices : MakeIndices<n - 1, n - 1, i...> {};
template <int... i>
struct MakeIndices<0, i...> {
  typedef Indices<i...> Type;
};

// a0 b0 a1 b1 ...
template <int n, typename V, int... i>
TUTTI_INLINE auto Interleave(V a, V b, Indices<i...>) {
  return __builtin_shufflevector(a, b, ((i & 1) * n + i / 2)...);
}
template <typename T, int n>
TUTTI_INLINE Vector<T, 2 * n> Interleave(Vector<T, n> a, Vector<T, n> b) {
  return Interleave<n>(a, b, typename MakeIndices<2 * n>::Type());
}
// Elements first, first + step, ...
template <int first, int step, typename V, int... i>
TUTTI_INLINE auto Every(V v, Indices<i...>) {
  return __builtin_shufflevector(v, v, (first + step * i)...);
}

template <typename T, int n>
TUTTI_INLINE Vector<T, n> Load(const void* from) {
  Vector<T, n> value;
  __builtin_memcpy(&value, from, sizeof(T) * n);
  return value;
}
template <typename V>
TUTTI_INLINE void Store(void* to, V value) {
  __builtin_memcpy(to, &value, sizeof value);
}

// What 16 bytes hold, as numbers to calculate with.
template <typename T, int count>
struct Elements {
  typedef T Number;
  static constexpr int kCount = count;
  typedef Vector<T, count> Numbers;
};
struct Half : Elements<float, 8> {
  TUTTI_INLINE Numbers Get(const void* from) {
    return __builtin_convertvector(__builtin_bit_cast(Vector<_Float16, 8>, Load<uint16_t, 8>(from)), Numbers);
  }
};
struct Brain : Elements<float, 8> {
  TUTTI_INLINE Numbers Get(const void* from) {
    const auto wide = __builtin_convertvector(Load<uint16_t, 8>(from), Vector<uint32_t, 8>);
    return __builtin_bit_cast(Numbers, wide << 16);
  }
};
struct Tf32 : Elements<float, 4> {
  TUTTI_INLINE Numbers Get(const void* from) {
    return __builtin_bit_cast(Numbers, Load<uint32_t, 4>(from) & 0xffffe000);
  }
};
// e5m2 is the upper half of a half; e4m3 as one is 2^8 too small, and has one NaN.
struct E5M2 : Elements<float, 16> {
  TUTTI_INLINE Numbers Get(const void* from) {
    const auto halves = __builtin_convertvector(Load<uint8_t, 16>(from), Vector<uint16_t, 16>) << 8;
    return __builtin_convertvector(__builtin_bit_cast(Vector<_Float16, 16>, halves), Numbers);
  }
};
struct E4M3 : Elements<float, 16> {
  TUTTI_INLINE Numbers Get(const void* from) {
    const auto code = __builtin_convertvector(Load<uint8_t, 16>(from), Vector<uint16_t, 16>);
    const Vector<uint16_t, 16> halves = (code & 128) << 8 | (code & 127) << 7;
    const Numbers value = __builtin_convertvector(__builtin_bit_cast(Vector<_Float16, 16>, halves), Numbers) * 256.0f;
    const auto is_nan = __builtin_convertvector((code & 127) == 127, Vector<int32_t, 16>);
    return __builtin_bit_cast(Numbers, __builtin_bit_cast(Vector<int32_t, 16>, value) | (is_nan & 0x7fc00000));
  }
};
struct Signed8 : Elements<int32_t, 16> {
  TUTTI_INLINE Numbers Get(const void* from) { return __builtin_convertvector(Load<int8_t, 16>(from), Numbers); }
};
struct Unsigned8 : Elements<int32_t, 16> {
  TUTTI_INLINE Numbers Get(const void* from) { return __builtin_convertvector(Load<uint8_t, 16>(from), Numbers); }
};
struct SingleBits : Elements<int32_t, 4> {  // 32 at a time
  TUTTI_INLINE Numbers Get(const void* from) { return Load<int32_t, 4>(from); }
};

typedef Vector<float, 16> F16x;
typedef Vector<int32_t, 16> I16x;
typedef Vector<uint32_t, 16> U16x;

struct MultiplyAdd {
  TUTTI_INLINE F16x Add(F16x a, F16x b, F16x sum) { return __builtin_elementwise_fma(a, b, sum); }
  TUTTI_INLINE I16x Add(I16x a, I16x b, I16x sum) {
    return __builtin_bit_cast(
        I16x, __builtin_bit_cast(U16x, a) * __builtin_bit_cast(U16x, b) + __builtin_bit_cast(U16x, sum));
  }
};
struct AndCount {
  TUTTI_INLINE I16x Add(I16x a, I16x b, I16x sum) {
    U16x x = __builtin_bit_cast(U16x, a & b);
    x = x - (x >> 1 & 0x55555555);
    x = (x & 0x33333333) + (x >> 2 & 0x33333333);
    x = (x + (x >> 4)) & 0x0f0f0f0f;
    return __builtin_bit_cast(I16x, (x * 0x01010101 >> 24) + __builtin_bit_cast(U16x, sum));
  }
};

// Where the pieces of 16 bytes lie.
struct Descriptor {
  static constexpr uint32_t kSpans[] = {16, 128, 64, 32};
  uint32_t start, leading, stride, base, span;

  TUTTI_MEMBER explicit Descriptor(uint64_t bits)
      : start(Field(bits, 0)),
        leading(Field(bits, 16)),
        stride(Field(bits, 32)),
        base(static_cast<uint32_t>(bits >> 49 & 7)),
        span(kSpans[bits >> 62]) {}

  // Number `chunk` along K of row (or column) `row`; of a matrix stored across: the 8 places along M (or N) from
  // 8 * `group` on, of place `k`.
  TUTTI_MEMBER uint32_t Along(uint32_t row, uint32_t chunk) const {
    const uint32_t at = start + row % 8 * span + row / 8 * stride;
    return Swizzled(at + chunk * (span == 16 ? leading : 16));
  }
  TUTTI_MEMBER uint32_t Across(uint32_t group, uint32_t k) const {
    if (span == 16) return start + group * stride + k % 8 * 16 + k / 8 * leading;
    const uint32_t chunks = span / 16;
    return Swizzled(start + group % chunks * 16 + group / chunks * leading + k % 8 * span + k / 8 * stride);
  }

 private:
  static TUTTI_MEMBER uint32_t Field(uint64_t bits, unsigned from) {
    return static_cast<uint32_t>(bits >> from & 0x3fff) << 4;
  }
  TUTTI_MEMBER uint32_t Swizzled(uint32_t at) const {
    const uint32_t row = (at >> 7) - base;
    return at ^ (row << 4 & (span - 16));
  }
};

struct Caller {
  WarpState* warp;
  uint32_t location;

  // 16 bytes of the block's shared memory.
  TUTTI_MEMBER const uint8_t* Shared(uint32_t offset) const {
    const tutti::guest::BlockState* block = warp->block;
    if (!Within(offset, 16, 0, block->shared_bytes)) {
      const uint64_t address = reinterpret_cast<uint64_t>(block->shared) + offset;
      block->services->fault(warp, FaultKind::kIllegalAddress, 0, address, location);
      __builtin_unreachable();
    }
    return block->shared + offset;
  }
};

// Eight rows of a core matrix, `at(row)` each, as columns: to[8 k + row].
template <typename E, typename At>
TUTTI_INLINE void Transpose(At at, typename E::Number* to) {
  typedef typename E::Number T;
  constexpr int n = E::kCount;
  Vector<T, n> rows[8];
  for (uint32_t i = 0; i < 8; ++i) rows[i] = E::Get(at(i));
  const auto a = Interleave<T, 2 * n>(Interleave<T, n>(rows[0], rows[4]), Interleave<T, n>(rows[2], rows[6]));
  const auto b = Interleave<T, 2 * n>(Interleave<T, n>(rows[1], rows[5]), Interleave<T, n>(rows[3], rows[7]));
  Store(to, Interleave<T, 4 * n>(a, b));
}

// 8 rows of A or 8 columns of B, over all of K, from shared memory: to[8 k + place].
template <typename E>
TUTTI_INLINE void LoadEight(const Caller& caller, const Descriptor& matrix, uint32_t group, bool across,
                            typename E::Number* to) {
  if (across) {
    if constexpr (E::kCount == 8) {
      for (uint32_t k = 0; k < 16; ++k) Store(to + 8 * k, E::Get(caller.Shared(matrix.Across(group, k))));
    }
    return;
  }
  for (uint32_t chunk = 0; chunk < 2; ++chunk) {
    Transpose<E>([&](uint32_t row)
                     __attribute__((always_inline)) { return caller.Shared(matrix.Along(8 * group + row, chunk)); },
                 to + 8 * E::kCount * chunk);
  }
}

// Pairs of rows of A: pairs[8 k + p] has row 2 p in its lower and 2 p + 1 in its upper half.
template <typename E, int... i>
TUTTI_INLINE void ExpandPairs(const typename E::Number* rows, bool negates, Vector<typename E::Number, 16>* pairs,
                              Indices<i...>) {
  typedef typename E::Number T;
  for (uint32_t k = 0; k < 2 * E::kCount; ++k) {
    auto eight = Load<T, 8>(rows + 8 * k);
    if (negates) eight = -eight;
    pairs[8 * k + 0] = __builtin_shufflevector(eight, eight, (i / 8 + 0)...);
    pairs[8 * k + 1] = __builtin_shufflevector(eight, eight, (i / 8 + 2)...);
    pairs[8 * k + 2] = __builtin_shufflevector(eight, eight, (i / 8 + 4)...);
    pairs[8 * k + 3] = __builtin_shufflevector(eight, eight, (i / 8 + 6)...);
  }
}

// Accumulators of 8 columns in registers, as rows of 8: number 64 h + 8 g + c is row 8 h + g, column c.
struct Single {  // registers 4 j to 4 j + 3 of 32 lanes
  typedef float Number;
  static constexpr uint32_t kBytes = 4 * 32 * 4;
};
struct Packed {  // registers 2 j and 2 j + 1, of two halves each
  typedef float Number;
  static constexpr uint32_t kBytes = 2 * 32 * 4;
};
struct Word {
  typedef int32_t Number;
  static constexpr uint32_t kBytes = 4 * 32 * 4;
};

template <typename Sum>
TUTTI_INLINE void LoadSums(const uint8_t* from, uint32_t half, Vector<typename Sum::Number, 16>* sums) {
  typedef typename Sum::Number T;
  if constexpr (Sum::kBytes == Packed::kBytes) {
    const auto bits = Load<uint16_t, 64>(from + 128 * half);
    Store(sums, __builtin_convertvector(__builtin_bit_cast(Vector<_Float16, 64>, bits), Vector<float, 64>));
  } else {
    Store(sums, Interleave<T, 32>(Load<T, 32>(from + 256 * half), Load<T, 32>(from + 256 * half + 128)));
  }
}
template <typename Sum>
TUTTI_INLINE void StoreSums(uint8_t* to, uint32_t half, const Vector<typename Sum::Number, 16>* sums) {
  typedef typename Sum::Number T;
  const auto all = Load<T, 64>(sums);
  if constexpr (Sum::kBytes == Packed::kBytes) {
    Store(to + 128 * half, __builtin_convertvector(all, Vector<_Float16, 64>));
  } else {
    Store(to + 256 * half, Every<0, 2>(all, typename MakeIndices<32>::Type()));
    Store(to + 256 * half + 128, Every<1, 2>(all, typename MakeIndices<32>::Type()));
  }
}

template <typename Sum, typename A, typename B, typename Operation>
TUTTI_INLINE void MultiplyWarpGroup(const Caller& caller, uint32_t request, uint32_t keeps, uint64_t left,
                                    uint64_t right, const uint8_t* left_registers, uint8_t* sums) {
  typedef typename A::Number T;
  typedef Vector<T, 16> Pair;
  constexpr uint32_t kDepth = 2 * A::kCount;
  static_assert(A::kCount == B::kCount);
  Pair pairs[8 * kDepth];
  for (uint32_t half = 0; half < 2; ++half) {  // rows 8 * half and on
    T rows[8 * kDepth];
    if ((request & kLeftInRegisters) != 0) {
      for (uint32_t chunk = 0; chunk < 2; ++chunk) {
        const uint8_t* core = left_registers + 128 * (2 * chunk + half);
        Transpose<A>([&](uint32_t row) __attribute__((always_inline)) { return core + 16 * row; },
                     rows + 8 * A::kCount * chunk);
      }
    } else {
      LoadEight<A>(caller, Descriptor(left), caller.warp->warp % 4 * 2 + half, (request & kLeftIsAcross) != 0, rows);
    }
    ExpandPairs<A>(rows, (request & kNegates) != 0, pairs + 4 * half, typename MakeIndices<16>::Type());
  }
  const Descriptor columns(right);
  for (uint32_t j = 0; j < (request & kColumnsMask) / 8; ++j) {
    T eight[8 * kDepth];
    LoadEight<B>(caller, columns, j, (request & kRightIsAcross) != 0, eight);
    uint8_t* place = sums + Sum::kBytes * j;
    Pair total[8];
    if (keeps != 0) {
      LoadSums<Sum>(place, 0, total);
      LoadSums<Sum>(place, 1, total + 4);
    } else {
      for (Pair& two_rows : total) two_rows = Pair(0);
    }
    Pair t0 = total[0], t1 = total[1], t2 = total[2], t3 = total[3];
    Pair t4 = total[4], t5 = total[5], t6 = total[6], t7 = total[7];
    for (uint32_t k = 0; k < kDepth; ++k) {
      const auto row = Load<T, 8>(eight + 8 * k);
      const Pair twice = __builtin_shufflevector(row, row, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7);
      const Pair* at = pairs + 8 * k;
      t0 = Operation::Add(at[0], twice, t0);
      t1 = Operation::Add(at[1], twice, t1);
      t2 = Operation::Add(at[2], twice, t2);
      t3 = Operation::Add(at[3], twice, t3);
      t4 = Operation::Add(at[4], twice, t4);
      t5 = Operation::Add(at[5], twice, t5);
      t6 = Operation::Add(at[6], twice, t6);
      t7 = Operation::Add(at[7], twice, t7);
    }
    const Pair low[4] = {t0, t1, t2, t3}, high[4] = {t4, t5, t6, t7};
    StoreSums<Sum>(place, 0, low);
    StoreSums<Sum>(place, 1, high);
  }
}

}  // namespace

// tutti_wgmma_<accumulator>_<A>_<B>(..., A's descriptor, B's, A's four registers of 32 lanes, the accumulator's
// registers of 32 lanes each). `keeps`: whether what the accumulator holds is added.
#define TUTTI_WGMMA(name, Sum, A, B, Operation)                                                                       \
  TUTTI_EXPORT void tutti_wgmma_##name(WarpState* warp, uint32_t location, uint32_t request, uint32_t keeps,          \
                                       uint64_t left, uint64_t right, const uint8_t* left_registers, uint8_t* sums) { \
    MultiplyWarpGroup<Sum, A, B, Operation>(Caller{warp, location}, request, keeps, left, right, left_registers,      \
                                            sums);                                                                    \
  }
TUTTI_WGMMA(f32_f16_f16, Single, Half, Half, MultiplyAdd)
TUTTI_WGMMA(f16_f16_f16, Packed, Half, Half, MultiplyAdd)
TUTTI_WGMMA(f32_bf16_bf16, Single, Brain, Brain, MultiplyAdd)
TUTTI_WGMMA(f32_tf32_tf32, Single, Tf32, Tf32, MultiplyAdd)
TUTTI_WGMMA(s32_b1_b1, Word, SingleBits, SingleBits, AndCount)
#define TUTTI_WGMMA_FLOATS_OF_BYTES(types, A, B)      \
  TUTTI_WGMMA(f32_##types, Single, A, B, MultiplyAdd) \
  TUTTI_WGMMA(f16_##types, Packed, A, B, MultiplyAdd)
TUTTI_WGMMA_FLOATS_OF_BYTES(e4m3_e4m3, E4M3, E4M3)
TUTTI_WGMMA_FLOATS_OF_BYTES(e4m3_e5m2, E4M3, E5M2)
TUTTI_WGMMA_FLOATS_OF_BYTES(e5m2_e4m3, E5M2, E4M3)
TUTTI_WGMMA_FLOATS_OF_BYTES(e5m2_e5m2, E5M2, E5M2)
TUTTI_WGMMA(s32_s8_s8, Word, Signed8, Signed8, MultiplyAdd)
TUTTI_WGMMA(s32_s8_u8, Word, Signed8, Unsigned8, MultiplyAdd)
TUTTI_WGMMA(s32_u8_s8, Word, Unsigned8, Signed8, MultiplyAdd)
TUTTI_WGMMA(s32_u8_u8, Word, Unsigned8, Unsigned8, MultiplyAdd)
