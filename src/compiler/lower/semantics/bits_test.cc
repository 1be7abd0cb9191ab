// Logic, shifts, bit fields and comparisons against the host.
#include <gtest/gtest.h>

#include <bit>

#include "compiler/lower/semantics/statements.h"
#include "fmt/format.h"

namespace tutti::compiler {
namespace {

using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using i32 = int32_t;
using i64 = int64_t;

const std::vector<u32> kAmounts = {0, 1, 5, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 257, 0x80000000, 0xffffffff};

TEST(Bits, ShiftsBeyondTheWidthClamp) {
  Statements s;
  const auto p16 = Pairs(Words16(), kAmounts);
  const auto p32 = Pairs(Words32(), kAmounts);
  const auto p64 = Pairs(Words64(), kAmounts);
  s.Add<u16(u16, u32)>("shl.b16 %d, %a, %b;", p16, [](u16 a, u32 n) { return n > 15 ? 0 : a << n; });
  s.Add<u16(u16, u32)>("shr.u16 %d, %a, %b;", p16, [](u16 a, u32 n) { return n > 15 ? 0 : a >> n; });
  s.Add<u16(u16, u32)>("shr.s16 %d, %a, %b;", p16, [](u16 a, u32 n) { return int16_t(a) >> std::min(n, 15u); });
  s.Add<u32(u32, u32)>("shl.b32 %d, %a, %b;", p32, [](u32 a, u32 n) { return n > 31 ? 0 : a << n; });
  s.Add<u32(u32, u32)>("shr.u32 %d, %a, %b;", p32, [](u32 a, u32 n) { return n > 31 ? 0 : a >> n; });
  s.Add<u32(u32, u32)>("shr.s32 %d, %a, %b;", p32, [](u32 a, u32 n) { return i32(a) >> std::min(n, 31u); });
  s.Add<u64(u64, u32)>("shl.b64 %d, %a, %b;", p64, [](u64 a, u32 n) { return n > 63 ? 0 : a << n; });
  s.Add<u64(u64, u32)>("shr.b64 %d, %a, %b;", p64, [](u64 a, u32 n) { return n > 63 ? 0 : a >> n; });
  s.Add<u64(u64, u32)>("shr.s64 %d, %a, %b;", p64, [](u64 a, u32 n) { return i64(a) >> std::min(n, 63u); });
  const auto funnel = Pairs(Words64(), kAmounts);
  const std::string split = "{ .reg .b32 %l, %h; mov.b64 {%l, %h}, %a; ";
  s.Add<u32(u64, u32)>(split + "shf.l.wrap.b32 %d, %l, %h, %b; }", funnel,
                       [](u64 a, u32 n) { return (a << (n & 31)) >> 32; });
  s.Add<u32(u64, u32)>(split + "shf.l.clamp.b32 %d, %l, %h, %b; }", funnel,
                       [](u64 a, u32 n) { return (a << std::min(n, 32u)) >> 32; });
  s.Add<u32(u64, u32)>(split + "shf.r.wrap.b32 %d, %l, %h, %b; }", funnel, [](u64 a, u32 n) { return a >> (n & 31); });
  s.Add<u32(u64, u32)>(split + "shf.r.clamp.b32 %d, %l, %h, %b; }", funnel,
                       [](u64 a, u32 n) { return a >> std::min(n, 32u); });
  s.Check();
}

TEST(Bits, EveryTableOfThreeInputsIsComputed) {
  Statements s;
  const std::vector<std::tuple<u32, u32, u32>> input = {{0xf0f0f0f0, 0xcccccccc, 0xaaaaaaaa},
                                                        {0x12345678, 0x9abcdef0, 0x0f1e2d3c}};
  for (unsigned table = 0; table < 256; table += table < 32 ? 1 : 7) {
    s.Add<u32(u32, u32, u32)>(fmt::format("lop3.b32 %d, %a, %b, %c, {};", table), input, [table](u32 a, u32 b, u32 c) {
      u32 result = 0;
      for (int i = 0; i < 32; ++i) {
        const u32 index = (a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1);
        result |= (table >> index & 1) << i;
      }
      return result;
    });
  }
  s.Check();
}

template <typename Word>
Word Extract(Word a, u32 position, u32 length, bool is_signed) {
  const u32 top = sizeof(Word) * 8 - 1;
  position &= 255;
  length &= 255;
  const Word sign = is_signed && length != 0 ? a >> std::min(position + length - 1, top) & 1 : 0;
  Word result = 0;
  for (u32 i = 0; i <= top; ++i) {
    const Word bit = i < length && position + i <= top ? a >> (position + i) & 1 : sign;
    result |= bit << i;
  }
  return result;
}

template <typename Word>
Word Insert(Word a, Word b, u32 position, u32 length) {
  const u32 bits = sizeof(Word) * 8;
  for (u32 i = 0; i < (length & 255) && (position & 255) + i < bits; ++i) {
    const u32 at = (position & 255) + i;
    b = (b & ~(Word{1} << at)) | ((a >> i & 1) << at);
  }
  return b;
}

TEST(Bits, FieldsMayReachBeyondTheWord) {
  Statements s;
  const std::vector<u32> words = {0, 1, 0x80000000, 0xffffffff, 0x12345678, 0xfedcba98};
  const std::vector<u64> wide = {0, 1, 0x8000000000000000, ~u64{0}, 0x123456789abcdef0};
  const std::vector<u32> ends = {0, 1, 4, 16, 31, 32, 33, 40, 63, 64, 65, 255, 256};
  std::vector<std::tuple<u32, u32, u32>> fields;
  std::vector<std::tuple<u64, u32, u32>> wide_fields;
  for (u32 position : ends) {
    for (u32 length : ends) {
      for (u32 a : words) fields.push_back({a, position, length});
      for (u64 a : wide) wide_fields.push_back({a, position, length});
    }
  }
  s.Add<u32(u32, u32, u32)>("bfe.u32 %d, %a, %b, %c;", fields,
                            [](u32 a, u32 b, u32 c) { return Extract(a, b, c, false); });
  s.Add<u32(u32, u32, u32)>("bfe.s32 %d, %a, %b, %c;", fields,
                            [](u32 a, u32 b, u32 c) { return Extract(a, b, c, true); });
  s.Add<u64(u64, u32, u32)>("bfe.u64 %d, %a, %b, %c;", wide_fields,
                            [](u64 a, u32 b, u32 c) { return Extract(a, b, c, false); });
  s.Add<u64(u64, u32, u32)>("bfe.s64 %d, %a, %b, %c;", wide_fields,
                            [](u64 a, u32 b, u32 c) { return Extract(a, b, c, true); });
  s.Add<u32(u32, u32, u32)>("bfi.b32 %d, %a, 0x55aa55aa, %b, %c;", fields,
                            [](u32 a, u32 b, u32 c) { return Insert(a, 0x55aa55aau, b, c); });
  s.Add<u64(u64, u32, u32)>("bfi.b64 %d, %a, 0x55aa55aa12345678, %b, %c;", wide_fields,
                            [](u64 a, u32 b, u32 c) { return Insert<u64>(a, 0x55aa55aa12345678, b, c); });
  s.Add<u32(u32, u32, u32)>("bmsk.clamp.b32 %d, %b, %c;", fields, [](u32, u32 b, u32 c) {
    const u64 ones = (u64{1} << std::min(c, 32u)) - 1;
    return b > 31 ? 0 : ones << b;
  });
  s.Add<u32(u32, u32, u32)>("bmsk.wrap.b32 %d, %b, %c;", fields,
                            [](u32, u32 b, u32 c) { return ((u64{1} << (c & 31)) - 1) << (b & 31); });
  s.Check();
}

u32 Permute(u32 a, u32 b, u32 selector) {
  const u64 bytes = u64{b} << 32 | a;
  u32 result = 0;
  for (int i = 0; i < 4; ++i) {
    const u32 nibble = selector >> 4 * i & 15;
    u32 byte = bytes >> 8 * (nibble & 7) & 255;
    if (nibble & 8) byte = byte & 128 ? 255 : 0;
    result |= byte << 8 * i;
  }
  return result;
}

TEST(Bits, PermutationsByConstantAndByRegister) {
  Statements s;
  const std::vector<u32> words = {0x80017f03, 0xfedcba98, 0x12345678};
  const std::vector<u32> selectors = {0x3210, 0x7654, 0x0123, 0x5410,     0x7632,
                                      0x8888, 0xfb73, 0x4140, 0xffff3333, 0xba98};
  std::vector<std::tuple<u32, u32, u32>> input;
  for (u32 a : words) {
    for (u32 b : words) {
      for (u32 c : selectors) input.push_back({a, b, c});
    }
  }
  s.Add<u32(u32, u32, u32)>("prmt.b32 %d, %a, %b, %c;", input, Permute);
  for (u32 selector : selectors) {
    s.Add<u32(u32, u32, u32)>(fmt::format("prmt.b32 %d, %a, %b, {};", selector), input,
                              [selector](u32 a, u32 b, u32) { return Permute(a, b, selector); });
  }
  s.Add<u32(u32, u32, u32)>("prmt.b32.f4e %d, %a, %b, %c;", input,
                            [](u32 a, u32 b, u32 c) { return (u64{b} << 32 | a) >> 8 * (c & 3); });
  s.Add<u32(u32, u32, u32)>("prmt.b32.rc16 %d, %a, %b, %c;", input, [](u32 a, u32, u32 c) {
    const u32 half = c & 1 ? a >> 16 : a & 0xffff;
    return half << 16 | half;
  });
  s.Check();
}

TEST(Bits, CountsAndPositions) {
  Statements s;
  const auto w32 = Singles(Words32());
  const auto w64 = Singles(Words64());
  s.Add<u32(u32)>("popc.b32 %d, %a;", w32, [](u32 a) { return std::popcount(a); });
  s.Add<u32(u64)>("popc.b64 %d, %a;", w64, [](u64 a) { return std::popcount(a); });
  s.Add<u32(u32)>("clz.b32 %d, %a;", w32, [](u32 a) { return std::countl_zero(a); });
  s.Add<u32(u64)>("clz.b64 %d, %a;", w64, [](u64 a) { return std::countl_zero(a); });
  s.Add<u32(u32)>("bfind.u32 %d, %a;", w32, [](u32 a) { return a == 0 ? ~0u : 31u - std::countl_zero(a); });
  s.Add<u32(u32)>("bfind.shiftamt.u32 %d, %a;", w32, [](u32 a) { return a == 0 ? ~0u : u32(std::countl_zero(a)); });
  s.Add<u32(u64)>("bfind.s64 %d, %a;", w64, [](u64 a) {
    const u64 differs = i64(a) < 0 ? ~a : a;
    return differs == 0 ? ~0u : 63u - std::countl_zero(differs);
  });
  const auto reverse = [](auto a) {
    decltype(a) result = 0;
    for (size_t i = 0; i < sizeof a * 8; ++i) result |= (a >> i & 1) << (sizeof a * 8 - 1 - i);
    return result;
  };
  s.Add<u32(u32)>("brev.b32 %d, %a;", w32, reverse);
  s.Add<u64(u64)>("brev.b64 %d, %a;", w64, reverse);
  s.Add<u64(u64)>("not.b64 %d, %a;", w64, [](u64 a) { return ~a; });
  s.Add<u32(u32)>("cnot.b32 %d, %a;", w32, [](u32 a) { return a == 0; });
  s.Check();
}

TEST(Bits, ComparisonsOfIntegers) {
  Statements s;
  const auto p32 = Pairs(Words32());
  const auto p64 = Pairs(Words64());
  const auto p16 = Pairs(Words16());
  s.Add<bool(u32, u32)>("setp.lt.s32 %d, %a, %b;", p32, [](i32 a, i32 b) { return a < b; });
  s.Add<bool(u32, u32)>("setp.lt.u32 %d, %a, %b;", p32, [](u32 a, u32 b) { return a < b; });
  s.Add<bool(u32, u32)>("setp.lo.u32 %d, %a, %b;", p32, [](u32 a, u32 b) { return a < b; });
  s.Add<bool(u32, u32)>("setp.hs.u32 %d, %a, %b;", p32, [](u32 a, u32 b) { return a >= b; });
  s.Add<bool(u64, u64)>("setp.le.s64 %d, %a, %b;", p64, [](i64 a, i64 b) { return a <= b; });
  s.Add<bool(u64, u64)>("setp.gt.u64 %d, %a, %b;", p64, [](u64 a, u64 b) { return a > b; });
  s.Add<bool(u16, u16)>("setp.ge.s16 %d, %a, %b;", p16, [](int16_t a, int16_t b) { return a >= b; });
  s.Add<bool(u32, u32)>("setp.ne.u32 %p0, %a, 0; setp.lt.and.s32 %d|%p1, %a, %b, %p0;", p32,
                        [](i32 a, i32 b) { return a < b && a != 0; });
  s.Add<bool(u32, u32)>("setp.ne.u32 %p0, %a, 0; setp.lt.and.s32 %p1|%d, %a, %b, !%p0;", p32,
                        [](i32 a, i32 b) { return a >= b && a == 0; });
  s.Add<bool(u32, u32)>("setp.ne.u32 %p0, %a, 0; setp.eq.xor.b32 %d, %a, %b, %p0;", p32,
                        [](u32 a, u32 b) { return (a == b) != (a != 0); });
  s.Add<u32(u32, u32)>("set.gt.u32.s32 %d, %a, %b;", p32, [](i32 a, i32 b) { return a > b ? ~0u : 0u; });
  s.Add<float(u32, u32)>("set.le.f32.u32 %d, %a, %b;", p32, [](u32 a, u32 b) { return a <= b ? 1.0f : 0.0f; });
  s.Add<u64(u64, u64)>("setp.lt.u64 %p0, %a, %b; selp.b64 %d, %a, %b, %p0;", p64,
                       [](u64 a, u64 b) { return std::min(a, b); });
  s.Add<u32(u32, u32)>("slct.b32.s32 %d, %a, 9, %b;", p32, [](u32 a, i32 b) { return b >= 0 ? a : 9; });
  s.Check();
}

// As the PTX manual writes it.
u32 FindNthSet(u32 mask, u32 base, u32 offset) {
  const i32 n = static_cast<i32>(offset);
  if (n == 0) return base < 32 && (mask >> base & 1) != 0 ? base : ~0u;
  i64 count = std::abs(i64{n}) - 1;
  for (i64 position = base; position >= 0 && position < 32; position += n > 0 ? 1 : -1) {
    if ((mask >> position & 1) != 0 && count-- == 0) return static_cast<u32>(position);
  }
  return ~0u;
}

TEST(Bits, TheNthSetBitIsFoundInBothDirections) {
  Statements s;
  std::vector<std::tuple<u32, u32, u32>> input;
  for (const u32 mask : {0u, 1u, 0x80000000u, 0xffffffffu, 0x55555555u, 0x12345678u, 0xf000000fu}) {
    for (const u32 base : {0u, 1u, 5u, 16u, 30u, 31u}) {
      for (const i32 n : {0, 1, 2, 3, 13, 16, 32, 33, 0x7fffffff, -1, -2, -3, -13, -32, -33, -0x7fffffff - 1}) {
        input.emplace_back(mask, base, static_cast<u32>(n));
      }
    }
  }
  s.Add<u32(u32, u32, u32)>("fns.b32 %d, %a, %b, %c;", input, FindNthSet);
  s.Check();
}

}  // namespace
}  // namespace tutti::compiler
