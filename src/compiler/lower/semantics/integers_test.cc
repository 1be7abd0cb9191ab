// Integer arithmetic against the host, at the numbers where it goes wrong if it does.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "compiler/lower/semantics/statements.h"
#include "fmt/format.h"

namespace tutti::compiler {
namespace {

using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using i16 = int16_t;
using i32 = int32_t;
using i64 = int64_t;
using i128 = __int128;
using u128 = unsigned __int128;

template <typename S, typename U>
S Signed(U x) {
  return static_cast<S>(x);
}

template <typename S>
S Clamp(i128 x) {
  return static_cast<S>(std::clamp<i128>(x, std::numeric_limits<S>::min(), std::numeric_limits<S>::max()));
}

TEST(Integers, SumsDifferencesAndProductsWrap) {
  Statements s;
  const auto p16 = Pairs(Words16());
  const auto p32 = Pairs(Words32());
  const auto p64 = Pairs(Words64());
  s.Add<u16(u16, u16)>("add.u16 %d, %a, %b;", p16, [](auto a, auto b) { return a + b; });
  s.Add<u16(u16, u16)>("sub.s16 %d, %a, %b;", p16, [](auto a, auto b) { return a - b; });
  s.Add<u16(u16, u16)>("mul.lo.u16 %d, %a, %b;", p16, [](u32 a, u32 b) { return a * b; });
  s.Add<u16(u16, u16)>("mul.hi.u16 %d, %a, %b;", p16, [](u32 a, u32 b) { return a * b >> 16; });
  s.Add<u16(u16, u16)>("mul.hi.s16 %d, %a, %b;", p16, [](u16 a, u16 b) { return (i32{i16(a)} * i16(b)) >> 16; });
  s.Add<u32(u16, u16)>("mul.wide.u16 %d, %a, %b;", p16, [](u32 a, u32 b) { return a * b; });
  s.Add<u32(u16, u16)>("mul.wide.s16 %d, %a, %b;", p16, [](u16 a, u16 b) { return i32{i16(a)} * i16(b); });
  s.Add<u32(u32, u32)>("add.u32 %d, %a, %b;", p32, [](auto a, auto b) { return a + b; });
  s.Add<u32(u32, u32)>("sub.u32 %d, %a, %b;", p32, [](auto a, auto b) { return a - b; });
  s.Add<u32(u32, u32)>("mul.lo.s32 %d, %a, %b;", p32, [](auto a, auto b) { return a * b; });
  s.Add<u32(u32, u32)>("mul.hi.u32 %d, %a, %b;", p32, [](u64 a, u64 b) { return a * b >> 32; });
  s.Add<u32(u32, u32)>("mul.hi.s32 %d, %a, %b;", p32, [](u32 a, u32 b) { return (i64{i32(a)} * i32(b)) >> 32; });
  s.Add<u64(u32, u32)>("mul.wide.u32 %d, %a, %b;", p32, [](u64 a, u64 b) { return a * b; });
  s.Add<u64(u32, u32)>("mul.wide.s32 %d, %a, %b;", p32, [](u32 a, u32 b) { return i64{i32(a)} * i32(b); });
  s.Add<u64(u64, u64)>("add.s64 %d, %a, %b;", p64, [](auto a, auto b) { return a + b; });
  s.Add<u64(u64, u64)>("sub.u64 %d, %a, %b;", p64, [](auto a, auto b) { return a - b; });
  s.Add<u64(u64, u64)>("mul.lo.u64 %d, %a, %b;", p64, [](auto a, auto b) { return a * b; });
  s.Add<u64(u64, u64)>("mul.hi.u64 %d, %a, %b;", p64, [](u128 a, u128 b) { return static_cast<u64>(a * b >> 64); });
  s.Add<u64(u64, u64)>("mul.hi.s64 %d, %a, %b;", p64,
                       [](u64 a, u64 b) { return static_cast<u64>((i128{i64(a)} * i64(b)) >> 64); });
  s.Check();
}

TEST(Integers, MultiplyAddKeepsTheHalfItIsAskedFor) {
  Statements s;
  std::vector<u32> few = {0, 1, 3, 0x7fffffff, 0x80000000, 0x12345678, 0xfffffffe, 0xffffffff};
  const auto t = Triples(few);
  s.Add<u32(u32, u32, u32)>("mad.lo.s32 %d, %a, %b, %c;", t, [](u32 a, u32 b, u32 c) { return a * b + c; });
  s.Add<u32(u32, u32, u32)>("mad.hi.u32 %d, %a, %b, %c;", t, [](u64 a, u64 b, u32 c) { return u32(a * b >> 32) + c; });
  s.Add<u32(u32, u32, u32)>("mad.hi.s32 %d, %a, %b, %c;", t,
                            [](u32 a, u32 b, u32 c) { return u32((i64{i32(a)} * i32(b)) >> 32) + c; });
  s.Add<u32(u32, u32, u32)>("mad.hi.sat.s32 %d, %a, %b, %c;", t, [](u32 a, u32 b, u32 c) {
    return Clamp<i32>(i128{(i64{i32(a)} * i32(b)) >> 32} + i32(c));
  });
  s.Add<u64(u32, u32, u64)>("mad.wide.s32 %d, %a, %b, %c;", t,
                            [](u32 a, u32 b, u64 c) { return u64(i64{i32(a)} * i32(b)) + c; });
  s.Add<u64(u32, u32, u64)>("mad.wide.u32 %d, %a, %b, %c;", t, [](u64 a, u64 b, u64 c) { return a * b + c; });
  s.Add<u32(u32, u32, u32)>("sad.s32 %d, %a, %b, %c;", t,
                            [](u32 a, u32 b, u32 c) { return c + (i32(a) < i32(b) ? b - a : a - b); });
  s.Add<u32(u32, u32, u32)>("sad.u32 %d, %a, %b, %c;", t,
                            [](u32 a, u32 b, u32 c) { return c + (a < b ? b - a : a - b); });
  s.Add<u32(u32, u32, u32)>("mad24.lo.s32 %d, %a, %b, %c;", t,
                            [](u32 a, u32 b, u32 c) { return u32(i64{i32(a << 8) >> 8} * (i32(b << 8) >> 8)) + c; });
  s.Add<u32(u32, u32, u32)>("mul24.hi.u32 %d, %a, %b;", t,
                            [](u64 a, u64 b, u32) { return ((a & 0xffffff) * (b & 0xffffff)) >> 16; });
  s.Check();
}

// Divisors of each length, and dividends next to their multiples: where an estimate of the quotient is off, these tell.
TEST(Integers, QuotientsOfWordsAreExact) {
  std::mt19937_64 random(5);
  std::vector<std::tuple<u64, u64>> hard;
  for (unsigned length = 1; length <= 64; ++length) {
    const u64 low = u64{1} << (length - 1), high = low + (low - 1);
    for (const u64 b :
         {low, low + (length > 1 ? 1 : 0), high, high - (length > 1 ? 1 : 0), low | (random() & (low - 1))}) {
      const u64 most = ~u64{0} / b;
      for (const u64 q : {most, most - 1, most / 2 + 1, random() % most + (most == ~u64{0} ? 0 : 1),
                          random() >> random() % 64, most / (random() | 1) + 1}) {
        if (q > most) continue;
        for (const u64 a : {q * b, q * b - 1, q * b + b - 1, q * b + 1, ~u64{0}, u64{1} << 63, u64{random()}})
          hard.emplace_back(a, b);
      }
    }
  }
  Statements s;
  s.Add<u64(u64, u64)>("div.u64 %d, %a, %b;", hard, [](u64 a, u64 b) { return a / b; });
  s.Add<u64(u64, u64)>("rem.u64 %d, %a, %b;", hard, [](u64 a, u64 b) { return a % b; });
  s.Add<u64(u64, u64)>("div.s64 %d, %a, %b;", hard, [](u64 a, u64 b) { return u64(i128{i64(a)} / i64(b)); });
  s.Add<u64(u64, u64)>("rem.s64 %d, %a, %b;", hard, [](u64 a, u64 b) { return u64(i128{i64(a)} % i64(b)); });
  s.Check();
}

// By zero: all ones, and the dividend as remainder. INT_MIN / -1 wraps. None of it may trap.
TEST(Integers, DivisionHasAResultForEveryOperand) {
  Statements s;
  const auto p32 = Pairs(Words32());
  const auto p64 = Pairs(Words64());
  const auto p16 = Pairs(Words16());
  s.Add<u32(u32, u32)>("div.u32 %d, %a, %b;", p32, [](u32 a, u32 b) { return b == 0 ? ~0u : a / b; });
  s.Add<u32(u32, u32)>("rem.u32 %d, %a, %b;", p32, [](u32 a, u32 b) { return b == 0 ? a : a % b; });
  s.Add<u32(u32, u32)>("div.s32 %d, %a, %b;", p32,
                       [](u32 a, u32 b) { return b == 0 ? ~0u : u32(i64{i32(a)} / i32(b)); });
  s.Add<u32(u32, u32)>("rem.s32 %d, %a, %b;", p32, [](u32 a, u32 b) { return b == 0 ? a : u32(i64{i32(a)} % i32(b)); });
  s.Add<u64(u64, u64)>("div.u64 %d, %a, %b;", p64, [](u64 a, u64 b) { return b == 0 ? ~u64{0} : a / b; });
  s.Add<u64(u64, u64)>("rem.u64 %d, %a, %b;", p64, [](u64 a, u64 b) { return b == 0 ? a : a % b; });
  s.Add<u64(u64, u64)>("div.s64 %d, %a, %b;", p64,
                       [](u64 a, u64 b) { return b == 0 ? ~u64{0} : u64(i128{i64(a)} / i64(b)); });
  s.Add<u64(u64, u64)>("rem.s64 %d, %a, %b;", p64,
                       [](u64 a, u64 b) { return b == 0 ? a : u64(i128{i64(a)} % i64(b)); });
  s.Add<u16(u16, u16)>("div.s16 %d, %a, %b;", p16, [](u16 a, u16 b) { return b == 0 ? 0xffff : i32{i16(a)} / i16(b); });
  s.Add<u16(u16, u16)>("rem.u16 %d, %a, %b;", p16, [](u16 a, u16 b) { return b == 0 ? a : a % b; });
  s.Check();
}

TEST(Integers, MinimaMagnitudesAndSaturation) {
  Statements s;
  const auto p32 = Pairs(Words32());
  const auto p64 = Pairs(Words64());
  s.Add<u32(u32, u32)>("min.s32 %d, %a, %b;", p32, [](i32 a, i32 b) { return std::min(a, b); });
  s.Add<u32(u32, u32)>("max.u32 %d, %a, %b;", p32, [](u32 a, u32 b) { return std::max(a, b); });
  s.Add<u32(u32, u32)>("max.relu.s32 %d, %a, %b;", p32, [](i32 a, i32 b) { return std::max({a, b, 0}); });
  s.Add<u64(u64, u64)>("min.u64 %d, %a, %b;", p64, [](u64 a, u64 b) { return std::min(a, b); });
  s.Add<u64(u64, u64)>("max.s64 %d, %a, %b;", p64, [](i64 a, i64 b) { return std::max(a, b); });
  s.Add<u32(u32, u32)>("add.sat.s32 %d, %a, %b;", p32, [](i32 a, i32 b) { return Clamp<i32>(i128{a} + b); });
  s.Add<u32(u32, u32)>("sub.sat.s32 %d, %a, %b;", p32, [](i32 a, i32 b) { return Clamp<i32>(i128{a} - b); });
  s.Add<u32(u32)>("abs.s32 %d, %a;", Singles(Words32()), [](u32 a) { return i32(a) < 0 ? 0 - a : a; });
  s.Add<u64(u64)>("abs.s64 %d, %a;", Singles(Words64()), [](u64 a) { return i64(a) < 0 ? 0 - a : a; });
  s.Add<u16(u16)>("neg.s16 %d, %a;", Singles(Words16()), [](u16 a) { return -a; });
  s.Add<u64(u64)>("neg.s64 %d, %a;", Singles(Words64()), [](u64 a) { return 0 - a; });
  s.Check();
}

TEST(Integers, CarriesRunThroughChains) {
  Statements s;
  const auto p = Pairs(Words64());
  // 64 bits by halves, in 32-bit registers unpacked from the operands.
  const std::string split = "{ .reg .b32 %l, %h, %m, %n; mov.b64 {%l, %h}, %a; mov.b64 {%m, %n}, %b; ";
  const std::string join = " mov.b64 %d, {%l, %h}; }";
  s.Add<u64(u64, u64)>(split + "add.cc.u32 %l, %l, %m; addc.u32 %h, %h, %n;" + join, p,
                       [](u64 a, u64 b) { return a + b; });
  s.Add<u64(u64, u64)>(split + "sub.cc.u32 %l, %l, %m; subc.u32 %h, %h, %n;" + join, p,
                       [](u64 a, u64 b) { return a - b; });
  // The carry out of the upper half alone.
  s.Add<u64(u64, u64)>(
      split + "add.cc.u32 %l, %l, %m; addc.cc.u32 %h, %h, %n; addc.u32 %l, 0, 0; mov.u32 %h, 0;" + join, p,
      [](u64 a, u64 b) { return u64{a + b < a}; });
  s.Add<u64(u64, u64)>(
      split + "sub.cc.u32 %l, %l, %m; subc.cc.u32 %h, %h, %n; subc.u32 %l, 0, 0; mov.u32 %h, 0;" + join, p,
      [](u64 a, u64 b) { return u64{a < b ? 0xffffffffu : 0u}; });
  // An addition after subtractions sees a carry where nothing was borrowed: divisions of 128 bits count on it.
  s.Add<u64(u64, u64)>("sub.cc.u64 %d, %a, %b; addc.u64 %d, 0, 0;", p, [](u64 a, u64 b) { return u64{a >= b}; });
  s.Add<u64(u64, u64)>(
      split + "sub.cc.u32 %l, %l, %m; subc.cc.u32 %h, %h, %n; addc.u32 %l, 0, 0; mov.u32 %h, 0;" + join, p,
      [](u64 a, u64 b) { return u64{a >= b}; });
  s.Add<u64(u64, u64)>("add.cc.u64 %d, %a, %b; addc.u64 %d, 0, 0;", p, [](u64 a, u64 b) { return u64{a + b < a}; });
  // The upper half of the 64-bit product, from 32-bit multiply-adds with carries.
  s.Add<u64(u64, u64)>(
      split +
          ".reg .b32 %q<4>; mul.lo.u32 %q0, %l, %m; mul.hi.u32 %q1, %l, %m; mad.lo.cc.u32 %q1, %l, %n, %q1; "
          "madc.hi.u32 %q2, %l, %n, 0; mad.lo.cc.u32 %q1, %h, %m, %q1; madc.hi.cc.u32 %q2, %h, %m, %q2; addc.u32 %q3, "
          "0, 0; "
          "mad.lo.cc.u32 %q2, %h, %n, %q2; madc.hi.u32 %q3, %h, %n, %q3; mov.b64 %d, {%q2, %q3}; }",
      p, [](u128 a, u128 b) { return static_cast<u64>(a * b >> 64); });
  s.Check();
}

TEST(Integers, GuardsKeepTheOldValue) {
  Statements s;
  const auto p = Pairs(Words32());
  s.Add<u32(u32, u32)>("mov.b32 %d, 7; setp.lt.u32 %p0, %a, %b; @%p0 add.u32 %d, %a, %b;", p,
                       [](u32 a, u32 b) { return a < b ? a + b : 7; });
  s.Add<u32(u32, u32)>("setp.lt.s32 %p0, %a, %b; @!%p0 sub.u32 %d, %a, %b;", p,
                       [](u32 a, u32 b) { return i32(a) < i32(b) ? 0 : a - b; });
  s.Add<u32(u32, u32)>("mov.b32 %d, 1; setp.lt.u32 %p0, %a, %b; @%p0 div.u32 %d, %b, %a;", p,
                       [](u32 a, u32 b) { return a < b ? (a == 0 ? ~0u : b / a) : 1; });
  s.Check();
}

TEST(Integers, PackedNumbersDoNotTouchEachOther) {
  Statements s;
  std::vector<u32> words = {0,          1,          0xff,       0x80,       0x7f80,     0x8000ffff,
                            0x01020304, 0xfffefdfc, 0x7fff8000, 0x80808080, 0xffffffff, 0x12345678};
  const auto t = Triples(words);
  const auto byte = [](u32 w, int i, bool is_signed) {
    return is_signed ? i32{int8_t(w >> 8 * i)} : i32(w >> 8 * i & 255);
  };
  const auto dot = [byte](bool a_signed, bool b_signed) {
    return [=](u32 a, u32 b, u32 c) {
      for (int i = 0; i < 4; ++i) c += u32(byte(a, i, a_signed) * byte(b, i, b_signed));
      return c;
    };
  };
  s.Add<u32(u32, u32, u32)>("dp4a.s32.s32 %d, %a, %b, %c;", t, dot(true, true));
  s.Add<u32(u32, u32, u32)>("dp4a.u32.u32 %d, %a, %b, %c;", t, dot(false, false));
  s.Add<u32(u32, u32, u32)>("dp4a.u32.s32 %d, %a, %b, %c;", t, dot(false, true));
  s.Add<u32(u32, u32, u32)>("dp4a.s32.u32 %d, %a, %b, %c;", t, dot(true, false));
  s.Add<u32(u32, u32, u32)>("dp2a.hi.s32.u32 %d, %a, %b, %c;", t, [byte](u32 a, u32 b, u32 c) {
    return c + u32(i32{i16(a)} * byte(b, 2, false)) + u32(i32{i16(a >> 16)} * byte(b, 3, false));
  });
  const struct {
    const char* name;
    i32 (*of)(i32, i32);
  } operations[] = {{"vabsdiff4", [](i32 a, i32 b) { return std::abs(a - b); }},
                    {"vmin4", [](i32 a, i32 b) { return std::min(a, b); }},
                    {"vmax4", [](i32 a, i32 b) { return std::max(a, b); }}};
  for (const auto& operation : operations) {
    for (const bool is_signed : {false, true}) {
      const auto form = [&](const char* text) {
        return fmt::format(fmt::runtime(text),
                           fmt::format("{0}.{1}32.{1}32.{1}32", operation.name, is_signed ? 's' : 'u'));
      };
      const auto of = [=, of = operation.of](u32 a, u32 b, int i) {
        return u32(of(byte(a, i, is_signed), byte(b, i, is_signed)));
      };
      s.Add<u32(u32, u32, u32)>(form("{} %d, %a, %b, %c;"), t, [of](u32 a, u32 b, u32) {
        u32 word = 0;
        for (int i = 0; i < 4; ++i) word |= (of(a, b, i) & 255) << 8 * i;
        return word;
      });
      s.Add<u32(u32, u32, u32)>(form("{}.add %d, %a, %b, %c;"), t, [of](u32 a, u32 b, u32 c) {
        for (int i = 0; i < 4; ++i) c += of(a, b, i);
        return c;
      });
      s.Add<u32(u32, u32, u32)>(form("{} %d.b31, %a, %b, %c;"), t, [of](u32 a, u32 b, u32 c) {
        return (of(a, b, 3) & 255) << 24 | (of(a, b, 1) & 255) << 8 | (c & 0x00ff00ff);
      });
      s.Add<u32(u32, u32, u32)>(form("{}.add %d.b31, %a, %b, %c;"), t,
                                [of](u32 a, u32 b, u32 c) { return c + of(a, b, 3) + of(a, b, 1); });
    }
  }
  s.Add<u32(u32, u32, u32)>("vabsdiff4.s32.s32.s32.sat %d, %a, %b, %c;", t, [byte](u32 a, u32 b, u32) {
    u32 word = 0;
    for (int i = 0; i < 4; ++i) word |= u32(std::min(std::abs(byte(a, i, true) - byte(b, i, true)), 127)) << 8 * i;
    return word;
  });
  const auto halves = [](auto operation) {
    return [=](u32 a, u32 b, u32) {
      return u32(u16(operation(u16(a), u16(b)))) | u32(u16(operation(u16(a >> 16), u16(b >> 16)))) << 16;
    };
  };
  s.Add<u32(u32, u32, u32)>("add.u16x2 %d, %a, %b;", t, halves([](u16 a, u16 b) { return a + b; }));
  s.Add<u32(u32, u32, u32)>("min.s16x2 %d, %a, %b;", t, halves([](i16 a, i16 b) { return std::min(a, b); }));
  s.Add<u32(u32, u32, u32)>("max.u16x2 %d, %a, %b;", t, halves([](u16 a, u16 b) { return std::max(a, b); }));
  s.Check();
}

}  // namespace
}  // namespace tutti::compiler
