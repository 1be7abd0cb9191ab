// cvt between all types, in all roundings.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/lower/semantics/host_math.h"
#include "compiler/lower/semantics/statements.h"
#include "fmt/format.h"

namespace tutti::compiler {
namespace {

using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using i32 = int32_t;
using i64 = int64_t;

struct Mode {
  const char* to_float;
  const char* to_integer;
  int mode;
};
constexpr Mode kModes[] = {
    {"rn", "rni", FE_TONEAREST}, {"rz", "rzi", FE_TOWARDZERO}, {"rm", "rmi", FE_DOWNWARD}, {"rp", "rpi", FE_UPWARD}};

// A result as the register holds it: extended from its own width to 32 or 64 bits.
template <typename Register, typename Integer, typename Float>
auto ToRegister(int mode) {
  return [mode](Float x) { return static_cast<Register>(ToInteger<Integer>(x, mode)); };
}

template <typename Float>
void AddToIntegers(Statements& s, const char* type, const std::vector<Float>& values) {
  const auto singles = Singles(values);
  for (const Mode& m : kModes) {
    const auto to = [&](const char* integer) {
      return fmt::format("cvt.{}.{}.{} %d, %a;", m.to_integer, integer, type);
    };
    s.Add<u32(Float)>(to("s32"), singles, ToRegister<u32, i32, Float>(m.mode));
    s.Add<u32(Float)>(to("u32"), singles, ToRegister<u32, u32, Float>(m.mode));
    s.Add<u64(Float)>(to("s64"), singles, ToRegister<u64, i64, Float>(m.mode));
    s.Add<u64(Float)>(to("u64"), singles, ToRegister<u64, u64, Float>(m.mode));
    s.Add<u16(Float)>(to("s16"), singles, ToRegister<u16, int16_t, Float>(m.mode));
    s.Add<u16(Float)>(to("u16"), singles, ToRegister<u16, u16, Float>(m.mode));
    s.Add<u32(Float)>(to("s8"), singles, ToRegister<u32, int8_t, Float>(m.mode));
    s.Add<u32(Float)>(to("u8"), singles, ToRegister<u32, uint8_t, Float>(m.mode));
  }
}

TEST(Conversions, FloatsToIntegersRoundThenClamp) {
  Statements s;
  AddToIntegers<float>(s, "f32", Floats());
  AddToIntegers<double>(s, "f64", Doubles());
  s.Add<u32(float)>("cvt.rpi.ftz.s32.f32 %d, %a;", Singles(Floats()),
                    [](float a) { return u32(ToInteger<i32>(Flush(a), FE_UPWARD)); });
  s.Check();
}

template <typename Float, typename Word, typename Integer>
void AddFromInteger(Statements& s, const char* to, const char* from, const std::vector<Word>& words) {
  for (const Mode& m : kModes) {
    s.Add<Float(Word)>(fmt::format("cvt.{}.{}.{} %d, %a;", m.to_float, to, from), Singles(words),
                       [mode = m.mode](Word word) {
                         volatile auto value = static_cast<Integer>(word);
                         return Rounded(mode, [&] { return static_cast<Float>(value); });
                       });
  }
}

TEST(Conversions, IntegersToFloatsInEveryRounding) {
  Statements s;
  std::vector<u64> words = Words64();
  for (int shift = 0; shift < 40; shift += 3) {
    for (u64 pattern : {0x1000001ull, 0x1000003ull, 0x20000000000001ull, 0x1ffffffull, 0x3fffffffffffffull})
      words.push_back(pattern << shift);
  }
  std::vector<u32> short_words(words.begin(), words.end());
  AddFromInteger<float, u32, i32>(s, "f32", "s32", short_words);
  AddFromInteger<float, u32, u32>(s, "f32", "u32", short_words);
  AddFromInteger<float, u64, i64>(s, "f32", "s64", words);
  AddFromInteger<float, u64, u64>(s, "f32", "u64", words);
  AddFromInteger<double, u64, i64>(s, "f64", "s64", words);
  AddFromInteger<double, u64, u64>(s, "f64", "u64", words);
  AddFromInteger<double, u32, i32>(s, "f64", "s32", short_words);
  AddFromInteger<float, u16, int16_t>(s, "f32", "s16", Words16());
  AddFromInteger<float, u16, uint8_t>(s, "f32", "u8", Words16());
  s.Check();
}

TEST(Conversions, IntegersExtendCutAndSaturate) {
  Statements s;
  const auto w16 = Singles(Words16());
  const auto w32 = Singles(Words32());
  const auto w64 = Singles(Words64());
  s.Add<u64(u32)>("cvt.s64.s32 %d, %a;", w32, [](u32 a) { return u64(i64{i32(a)}); });
  s.Add<u64(u32)>("cvt.u64.u32 %d, %a;", w32, [](u32 a) { return a; });
  s.Add<u32(u64)>("cvt.u32.u64 %d, %a;", w64, [](u64 a) { return a; });
  s.Add<u32(u16)>("cvt.s32.s16 %d, %a;", w16, [](u16 a) { return u32(int16_t(a)); });
  s.Add<u32(u16)>("cvt.s32.s8 %d, %a;", w16, [](u16 a) { return u32(int8_t(a)); });
  s.Add<u16(u32)>("cvt.u16.u32 %d, %a;", w32, [](u32 a) { return a; });
  s.Add<u32(u32)>("cvt.s8.s32 %d, %a;", w32, [](u32 a) { return u32(int8_t(a)); });
  s.Add<u32(u32)>("cvt.sat.s8.s32 %d, %a;", w32, [](u32 a) { return u32(std::clamp(i32(a), -128, 127)); });
  s.Add<u32(u32)>("cvt.sat.u8.s32 %d, %a;", w32, [](u32 a) { return u32(std::clamp(i32(a), 0, 255)); });
  s.Add<u32(u32)>("cvt.sat.s32.u32 %d, %a;", w32, [](u32 a) { return std::min(a, 0x7fffffffu); });
  s.Add<u32(u32)>("cvt.sat.u32.s32 %d, %a;", w32, [](u32 a) { return i32(a) < 0 ? 0 : a; });
  s.Add<u16(u64)>("cvt.sat.u16.s64 %d, %a;", w64, [](u64 a) { return std::clamp<i64>(i64(a), 0, 0xffff); });
  s.Add<u16(u64)>("cvt.sat.s16.u64 %d, %a;", w64, [](u64 a) { return std::min<u64>(a, 0x7fff); });
  s.Check();
}

// What a NaN becomes in a 16-bit format is not specified beyond its being one.
template <typename Float>
std::vector<Float> WithoutNans(std::vector<Float> values) {
  std::erase_if(values, [](Float x) { return std::isnan(x); });
  return values;
}

TEST(Conversions, FloatsToFloatsRoundOnce) {
  Statements s;
  const auto numbers = Singles(WithoutNans(Floats()));
  const auto wide_numbers = Singles(WithoutNans(Doubles()));
  const auto singles = Singles(Floats());
  const auto doubles = Singles(Doubles());
  s.Add<double(float)>("cvt.f64.f32 %d, %a;", singles, [](float a) { return double{a}; });
  s.Add<float(float)>("cvt.sat.f32.f32 %d, %a;", singles, Saturate<float>);
  s.Add<float(float)>("cvt.ftz.f32.f32 %d, %a;", singles, Flush);
  for (const Mode& m : kModes) {
    const auto integral = [mode = m.mode](auto a) {
      return Rounded(mode, [&] {
        volatile auto x = a;
        return std::nearbyint(decltype(a)(x));
      });
    };
    s.Add<float(double)>(fmt::format("cvt.{}.f32.f64 %d, %a;", m.to_float), doubles, [mode = m.mode](double a) {
      volatile double x = a;
      return Rounded(mode, [&] { return static_cast<float>(x); });
    });
    s.Add<float(float)>(fmt::format("cvt.{}.f32.f32 %d, %a;", m.to_integer), singles, integral);
    s.Add<double(double)>(fmt::format("cvt.{}.f64.f64 %d, %a;", m.to_integer), doubles, integral);
    s.Add<u16(float)>(fmt::format("cvt.{}.f16.f32 %d, %a;", m.to_float), numbers,
                      [mode = m.mode](float a) { return Narrow(a, kF16, mode); });
    s.Add<u16(double)>(fmt::format("cvt.{}.f16.f64 %d, %a;", m.to_float), wide_numbers,
                       [mode = m.mode](double a) { return Narrow(a, kF16, mode); });
  }
  s.Add<bool(float)>("{ .reg .b16 %h; cvt.rn.f16.f32 %h, %a; setp.nan.f16 %d, %h, %h; }", singles,
                     [](float a) { return std::isnan(a); });
  s.Add<u16(float)>("cvt.rn.bf16.f32 %d, %a;", singles, [](float a) { return Narrow(a, kBf16, FE_TONEAREST); });
  s.Add<u16(float)>("cvt.rz.bf16.f32 %d, %a;", singles, [](float a) { return Narrow(a, kBf16, FE_TOWARDZERO); });
  s.Add<u32(float, float)>("cvt.rn.f16x2.f32 %d, %a, %b;", Pairs(WithoutNans(FewFloats())), [](float a, float b) {
    return u32{Narrow(a, kF16, FE_TONEAREST)} << 16 | Narrow(b, kF16, FE_TONEAREST);
  });
  s.Add<u32(float, float)>("cvt.rn.relu.bf16x2.f32 %d, %a, %b;", Pairs(FewFloats()), [](float a, float b) {
    const auto relu = [](float x) { return x <= 0 ? 0.0f : x; };
    return u32{Narrow(relu(a), kBf16, FE_TONEAREST)} << 16 | Narrow(relu(b), kBf16, FE_TONEAREST);
  });
  s.Check();
}

std::vector<u16> AllHalves() {
  std::vector<u16> all;
  for (u32 bits = 0; bits < 0x10000; bits += 1) all.push_back(static_cast<u16>(bits));
  return all;
}

TEST(Conversions, EveryHalfBecomesTheNumberItIs) {
  Statements s;
  const auto all = Singles(AllHalves());
  s.Add<float(u16)>("cvt.f32.f16 %d, %a;", all, [](u16 a) { return float(Decode(a, kF16)); });
  s.Add<double(u16)>("cvt.f64.f16 %d, %a;", all, [](u16 a) { return Decode(a, kF16); });
  s.Add<float(u16)>("cvt.f32.bf16 %d, %a;", all, [](u16 a) { return float(Decode(a, kBf16)); });
  s.Add<u32(u16)>("cvt.rni.s32.f16 %d, %a;", all,
                  [](u16 a) { return u32(ToInteger<i32>(static_cast<float>(Decode(a, kF16)), FE_TONEAREST)); });
  s.Check();
}

TEST(Conversions, IntegersToHalvesRoundOnce) {
  Statements s;
  s.Add<u16(u32)>("cvt.rn.f16.s32 %d, %a;", Singles(Words32()),
                  [](u32 a) { return Narrow(i32(a), kF16, FE_TONEAREST); });
  // Around halves' ties and their largest, and far beyond.
  std::vector<u32> words = Words32();
  for (const u32 base : {2048u, 4096u, 32768u, 65504u, 65520u, 131072u}) {
    for (u32 i = 0; i < 64; ++i) words.insert(words.end(), {base + i - 32, 0 - (base + i - 32)});
  }
  std::vector<u64> wide(words.begin(), words.end());
  for (const u32 word : words) wide.insert(wide.end(), {u64(i64{i32(word)}), u64{word} << 32 | word});
  for (const auto& [name, mode] :
       {std::pair{"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}}) {
    const auto form = [&](const char* type) { return fmt::format("cvt.{}.f16.{} %d, %a;", name, type); };
    s.Add<u16(u32)>(form("s32"), Singles(words), [mode](u32 a) { return Narrow(i32(a), kF16, mode); });
    s.Add<u16(u32)>(form("u32"), Singles(words), [mode](u32 a) { return Narrow(a, kF16, mode); });
    s.Add<u16(u64)>(form("s64"), Singles(wide), [mode](u64 a) { return Narrow(i64(a), kF16, mode); });
    s.Add<u16(u64)>(form("u64"), Singles(wide), [mode](u64 a) { return Narrow(a, kF16, mode); });
  }
  s.Add<u16(u16)>("cvt.rz.f16.u16 %d, %a;", Singles(AllHalves()), [](u16 a) { return Narrow(a, kF16, FE_TOWARDZERO); });
  s.Add<u16(u16)>("cvt.rn.f16.u16 %d, %a;", Singles(AllHalves()), [](u16 a) { return Narrow(a, kF16, FE_TONEAREST); });
  s.Check();
}

TEST(Conversions, TensorFormats) {
  Statements s;
  const auto singles = Singles(Floats());
  s.Add<u32(float)>("cvt.rna.tf32.f32 %d, %a;", singles, [](float a) {
    u32 bits;
    std::memcpy(&bits, &a, 4);
    if (std::isnan(a)) return 0x7fffffffu;
    return std::isinf(a) ? bits : (bits + 0x1000) & 0xffffe000;
  });
  const SmallFloat e4m3{4, -6, 8}, e5m2{3, -14, 15};
  const auto encode = [](float x, SmallFloat format, double largest) -> u32 {
    const u32 sign = std::signbit(x) ? 0x80 : 0;
    if (std::isnan(x)) return 0x7f;
    const double value = std::min(
        RoundTo(std::min(std::fabs(double{x}), largest), format.digits, format.minimum, format.maximum, FE_TONEAREST),
        largest);
    if (value == 0) return sign;
    const int mantissa = format.digits - 1, exponent = std::max(std::ilogb(value), format.minimum);
    const int units = static_cast<int>(std::ldexp(value, mantissa - exponent));
    const int biased = units >> mantissa == 0 ? 0 : exponent - format.minimum + 1;
    return sign | u32(biased << mantissa) | u32(units & ((1 << mantissa) - 1));
  };
  const auto nan_sign = [](u32 code) { return (code & 0x7f) == 0x7f ? code & 0x7f : code; };
  std::vector<float> numbers = Floats();
  for (int i = 0; i < 500; ++i) numbers.push_back(std::ldexp(1.0f + 0.0313f * static_cast<float>(i % 32), i % 29 - 18));
  s.Add<u16(float, float)>(
      "cvt.rn.satfinite.e4m3x2.f32 %d, %a, %b;", Pairs(numbers, std::vector<float>{1.0f}),
      [=](float a, float b) { return nan_sign(encode(a, e4m3, 448)) << 8 | encode(b, e4m3, 448); });
  s.Add<u16(float, float)>(
      "cvt.rn.satfinite.e5m2x2.f32 %d, %a, %b;", Pairs(numbers, std::vector<float>{1.0f}),
      [=](float a, float b) { return nan_sign(encode(a, e5m2, 57344)) << 8 | encode(b, e5m2, 57344); });
  std::vector<u16> codes;
  for (u32 code = 0; code < 256; ++code) codes.push_back(static_cast<u16>(code | 0x3800));
  s.Add<u32(u16)>("cvt.rn.f16x2.e4m3x2 %d, %a;", Singles(codes), [](u16 a) {
    const int exponent = a >> 3 & 15, mantissa = a & 7;
    double value = exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
    if (a & 0x80) value = -value;
    const u32 half = (a & 0x7f) == 0x7f ? 0x7fff : Encode(value, kF16);  // a NaN loses its sign
    return 0x3c00u << 16 | half;
  });
  s.Check();
}

}  // namespace
}  // namespace tutti::compiler
