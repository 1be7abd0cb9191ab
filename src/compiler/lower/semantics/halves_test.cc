// f16, bf16 and pairs: each operation against exact arithmetic rounded once.
#include <gtest/gtest.h>

#include "compiler/lower/semantics/host_math.h"
#include "compiler/lower/semantics/statements.h"
#include "fmt/format.h"

namespace tutti::compiler {
namespace {

using u16 = uint16_t;
using u32 = uint32_t;

bool IsNan(u16 bits, SmallFloat format) { return std::isnan(Decode(bits, format)); }

// Sums of two products' worth of bits are exact in long double for f16; for bf16 fma the error of long double is far
// below what rounding to 8 bits can see, except at ties, which the inputs here do not come near.
u16 FromExact(long double x, SmallFloat format) { return Narrow(static_cast<double>(x), format, FE_TONEAREST); }

template <typename Operation>
auto Binary(SmallFloat format, Operation operation) {
  return [=](u16 a, u16 b) {
    const u16 result = FromExact(
        operation(static_cast<long double>(Decode(a, format)), static_cast<long double>(Decode(b, format))), format);
    return IsNan(result, format) ? u16{0x7fff} : result;
  };
}

// NaN payloads are not compared: every NaN is stored as 0x7fff.
std::string Canonical(const char* type, const std::string& statement) {
  return fmt::format("{} setp.nan.{} %p0, %d, %d; selp.b16 %d, 0x7fff, %d, %p0;", statement, type, type);
}

std::vector<u16> Brains() {
  return {0,      0x8000, 1,      0x80,   0x3f80, 0x3f81, 0xbf80, 0x4049,
          0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7fc0, 0x3eaa, 0x1234, 0xc2f0};
}

TEST(Halves, SumsAndProductsRoundOnce) {
  Statements s;
  const auto f16 = Pairs(Halves());
  const auto bf16 = Pairs(Brains());
  const auto sum = [](long double a, long double b) { return a + b; };
  const auto difference = [](long double a, long double b) { return a - b; };
  const auto product = [](long double a, long double b) { return a * b; };
  s.Add<u16(u16, u16)>(Canonical("f16", "add.f16 %d, %a, %b;"), f16, Binary(kF16, sum));
  s.Add<u16(u16, u16)>(Canonical("f16", "sub.rn.f16 %d, %a, %b;"), f16, Binary(kF16, difference));
  s.Add<u16(u16, u16)>(Canonical("f16", "mul.f16 %d, %a, %b;"), f16, Binary(kF16, product));
  s.Add<u16(u16, u16)>(Canonical("bf16", "add.bf16 %d, %a, %b;"), bf16, Binary(kBf16, sum));
  s.Add<u16(u16, u16)>(Canonical("bf16", "mul.bf16 %d, %a, %b;"), bf16, Binary(kBf16, product));
  s.Check();
}

TEST(Halves, FusedMultiplyAddRoundsOnceEvenAtTies) {
  Statements s;
  // Products that lie on a tie of f16, with addends that tip it either way.
  std::vector<u16> few = {0x3c00, 0xbc00, 0x3c01, 0x3c03, 0x4200, 0x6401, 0x0001, 0x8001,
                          0x0400, 0x1001, 0x7bff, 0x2c05, 0x5bff, 0,      0x7c00, 0x7e00};
  s.Add<u16(u16, u16, u16)>(Canonical("f16", "fma.rn.f16 %d, %a, %b, %c;"), Triples(few), [](u16 a, u16 b, u16 c) {
    const long double exact = static_cast<long double>(Decode(a, kF16)) * Decode(b, kF16) + Decode(c, kF16);
    // 64 bits of mantissa hold the exact sum of f16 numbers; going on to double must not round it to a tie: to odd.
    double once = static_cast<double>(exact);
    if (std::isfinite(exact) && static_cast<long double>(once) != exact)
      once = std::nextafter(once, exact > once ? HUGE_VAL : -HUGE_VAL);
    const u16 result =
        Narrow(static_cast<long double>(once) == exact || !std::isfinite(exact) ? static_cast<double>(exact) : once,
               kF16, FE_TONEAREST);
    return IsNan(result, kF16) ? u16{0x7fff} : result;
  });
  // 1.0078125^2 is a tie of bf16; the tiny addend decides, 2^-100 as well as 2^-8.
  const std::vector<std::tuple<u16, u16, u16>> ties = {{0x3f81, 0x3fc0, 0x0d80},
                                                       {0x3f81, 0x3fc0, 0x8d80},
                                                       {0x3f81, 0x3fc0, 0},
                                                       {0x3f83, 0x3fc0, 0x0d80},
                                                       {0x3f83, 0x3fc0, 0x8d80}};
  s.Add<u16(u16, u16, u16)>("fma.rn.bf16 %d, %a, %b, %c;", ties, [](u16 a, u16 b, u16 c) {
    const double product = Decode(a, kBf16) * Decode(b, kBf16);  // exact
    const double tipped = c == 0 ? product : std::nextafter(product, c & 0x8000 ? -HUGE_VAL : HUGE_VAL);
    return Narrow(tipped, kBf16, FE_TONEAREST);
  });
  s.Check();
}

// Exact sums within 2^-30 of a tie, on either side of it: a sum that was rounded to f32, or cut to it, is the tie.
TEST(Halves, FusedMultiplyAddSeesWhatFloatsDoNot) {
  Statements s;
  using Inputs = std::vector<std::tuple<u16, u16, u16>>;
  constexpr u16 kA = 0x3c01, kB = 0x0ffe, kMinusB = 0x8ffe;  // 1025 * 2^-10 and 1023 * 2^-21: 2^-11 - 2^-31
  s.Add<u16(u16, u16, u16)>("fma.rn.f16 %d, %a, %b, %c;",
                            Inputs{{kA, kB, 0x3c01}, {kA, kMinusB, 0x3c01}, {kA, kB, 0x3c02}, {kA, kMinusB, 0x3c02}},
                            [](u16, u16, u16 c) { return c; });
  // 7 * 37 is halfway between 258 and 260, 9 * 29 between 260 and 262; 2^-40 decides.
  s.Add<u16(u16, u16, u16)>("fma.rn.bf16 %d, %a, %b, %c;",
                            Inputs{{0x40e0, 0x4214, 0x2b80}, {0x40e0, 0x4214, 0xab80}, {0x4110, 0x41e8, 0x2b80}},
                            [](u16 a, u16, u16 c) {
                              return a == 0x4110 ? u16{0x4383} : c == 0x2b80 ? u16{0x4382} : u16{0x4381};
                            });
  s.Check();
}

TEST(Halves, TheLargerOfTwo) {
  Statements s;
  const std::vector<u16> numbers = {0,      0x8000, 0x0001, 0x8001, 0x3c00, 0xbc00,
                                    0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xffff};
  const auto choose = [](bool larger, bool propagates) {
    return [=](u16 a, u16 b) -> u16 {
      const bool a_nan = IsNan(a, kF16), b_nan = IsNan(b, kF16);
      if ((a_nan && b_nan) || (propagates && (a_nan || b_nan))) return 0x7fff;
      if (a_nan || b_nan) return a_nan ? b : a;
      const auto order = [](u16 x) { return std::pair(Decode(x, kF16), (x & 0x8000) == 0); };
      return (order(a) < order(b)) == larger ? b : a;
    };
  };
  s.Add<u16(u16, u16)>("max.f16 %d, %a, %b;", Pairs(numbers), choose(true, false));
  s.Add<u16(u16, u16)>("min.f16 %d, %a, %b;", Pairs(numbers), choose(false, false));
  s.Add<u16(u16, u16)>("max.NaN.f16 %d, %a, %b;", Pairs(numbers), choose(true, true));
  s.Add<u16(u16, u16)>("min.NaN.f16 %d, %a, %b;", Pairs(numbers), choose(false, true));
  s.Check();
}

TEST(Halves, TheLargerMagnitudeHasTheSignOfTheProductAndNanHasNone) {
  Statements s;
  const auto choose = [](SmallFloat format, bool propagates) {
    return [=](u16 a, u16 b) -> u16 {
      const bool a_nan = IsNan(a, format), b_nan = IsNan(b, format);
      if ((a_nan && b_nan) || (propagates && (a_nan || b_nan))) return 0x7fff;
      const u16 magnitude = a_nan ? b & 0x7fff : b_nan ? a & 0x7fff : std::max<u16>(a & 0x7fff, b & 0x7fff);
      return magnitude | ((a ^ b) & 0x8000);
    };
  };
  const auto add = [&](const char* type, SmallFloat format, const std::vector<u16>& numbers) {
    s.Add<u16(u16, u16)>(fmt::format("max.xorsign.abs.{} %d, %a, %b;", type), Pairs(numbers), choose(format, false));
    s.Add<u16(u16, u16)>(fmt::format("max.NaN.xorsign.abs.{} %d, %a, %b;", type), Pairs(numbers), choose(format, true));
  };
  add("f16", kF16, {0, 0x8000, 0x3c00, 0xbc01, 0x7c00, 0xfbff, 0x7e00, 0x7fff, 0xffff});
  add("bf16", kBf16, {0, 0x8000, 0x3f80, 0xbf81, 0x7f80, 0xff7f, 0x7fc0, 0x7fff, 0xffff});
  s.Check();
}

TEST(Halves, PairsAreTwoIndependentHalves) {
  Statements s;
  std::vector<u32> pairs;
  for (u16 low : {0x3c00, 0x0001, 0xfbff, 0x7c00}) {
    for (u16 high : {0xbc01, 0x7bff, 0x0400}) pairs.push_back(u32{high} << 16 | low);
  }
  const auto each = [](auto operation) {
    return [=](u32 a, u32 b) {
      const auto half = [&](int shift) -> u32 { return operation(u16(a >> shift), u16(b >> shift)); };
      return half(16) << 16 | half(0);
    };
  };
  const auto sum = Binary(kF16, [](long double a, long double b) { return a + b; });
  const auto product = Binary(kF16, [](long double a, long double b) { return a * b; });
  std::vector<std::tuple<u32, u32>> input;
  for (const auto& [a, b] : Pairs(pairs)) {
    if (!IsNan(sum(u16(a), u16(b)), kF16) && !IsNan(sum(u16(a >> 16), u16(b >> 16)), kF16)) input.push_back({a, b});
  }
  s.Add<u32(u32, u32)>("add.rn.f16x2 %d, %a, %b;", input, each(sum));
  s.Add<u32(u32, u32)>("mul.rn.f16x2 %d, %a, %b;", input, each(product));
  s.Add<u32(u32, u32)>("neg.f16x2 %d, %a;", input, [](u32 a, u32) { return a ^ 0x80008000; });
  s.Add<u32(u32, u32)>("abs.bf16x2 %d, %a;", input, [](u32 a, u32) { return a & 0x7fff7fff; });
  s.Add<u32(u32, u32)>("max.f16x2 %d, %a, %b;", input,
                       each([](u16 a, u16 b) { return Decode(a, kF16) > Decode(b, kF16) ? a : b; }));
  s.Check();
}

TEST(Halves, ComparisonsSeeNumbers) {
  Statements s;
  const auto pairs = Pairs(Halves());
  s.Add<bool(u16, u16)>("setp.lt.f16 %d, %a, %b;", pairs,
                        [](u16 a, u16 b) { return Decode(a, kF16) < Decode(b, kF16); });
  s.Add<bool(u16, u16)>("setp.geu.f16 %d, %a, %b;", pairs,
                        [](u16 a, u16 b) { return !(Decode(a, kF16) < Decode(b, kF16)); });
  s.Add<bool(u16, u16)>("setp.eq.bf16 %d, %a, %b;", Pairs(Brains()),
                        [](u16 a, u16 b) { return Decode(a, kBf16) == Decode(b, kBf16); });
  s.Add<u16(u16, u16)>("set.eq.f16.f16 %d, %a, %b;", pairs,
                       [](u16 a, u16 b) { return Decode(a, kF16) == Decode(b, kF16) ? 0x3c00 : 0; });
  s.Check();
}

}  // namespace
}  // namespace tutti::compiler
