// f32 and f64 arithmetic against the host's, in every rounding.
#include <gtest/gtest.h>

#include "compiler/lower/semantics/host_math.h"
#include "compiler/lower/semantics/statements.h"
#include "fmt/format.h"

namespace tutti::compiler {
namespace {

struct Mode {
  const char* name;
  int mode;
};
constexpr Mode kModes[] = {{"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}};

// The operand is read at run time: the host's compiler must not compute with it in its own rounding.
template <typename T>
T Opaque(T x) {
  volatile T value = x;
  return value;
}

template <typename T>
void AddRounded(Statements& s, const char* type, const std::vector<T>& values, const std::vector<T>& few) {
  const auto pairs = Pairs(values);
  for (const Mode& m : kModes) {
    const auto with = [&](const char* text) { return fmt::format(fmt::runtime(text), m.name, type); };
    const auto rounded = [mode = m.mode](auto body) {
      return [=](auto... x) { return Rounded(mode, [&] { return body(Opaque(x)...); }); };
    };
    s.Add<T(T, T)>(with("add.{}.{} %d, %a, %b;"), pairs, rounded([](T a, T b) { return a + b; }));
    s.Add<T(T, T)>(with("sub.{}.{} %d, %a, %b;"), pairs, rounded([](T a, T b) { return a - b; }));
    s.Add<T(T, T)>(with("mul.{}.{} %d, %a, %b;"), pairs, rounded([](T a, T b) { return a * b; }));
    s.Add<T(T, T)>(with("div.{}.{} %d, %a, %b;"), pairs, rounded([](T a, T b) { return a / b; }));
    s.Add<T(T)>(with("sqrt.{}.{} %d, %a;"), Singles(values), rounded([](T a) { return std::sqrt(a); }));
    s.Add<T(T)>(with("rcp.{}.{} %d, %a;"), Singles(values), rounded([](T a) { return Opaque(T(1)) / a; }));
    s.Add<T(T, T, T)>(with("fma.{}.{} %d, %a, %b, %c;"), Triples(few),
                      rounded([](T a, T b, T c) { return std::fma(a, b, c); }));
  }
}

TEST(Floats, ArithmeticInEveryRounding) {
  Statements s;
  AddRounded<float>(s, "f32", Floats(), FewFloats());
  s.Check();
}

TEST(Doubles, ArithmeticInEveryRounding) {
  Statements s;
  AddRounded<double>(s, "f64", Doubles(), FewDoubles());
  s.Check();
}

TEST(Floats, FlushingAndSaturationBelongToOneInstruction) {
  Statements s;
  const auto pairs = Pairs(Floats());
  const auto singles = Singles(Floats());
  s.Add<float(float, float)>("add.ftz.f32 %d, %a, %b;", pairs,
                             [](float a, float b) { return Flush(Flush(a) + Flush(b)); });
  s.Add<float(float, float)>("mul.ftz.f32 %d, %a, %b;", pairs,
                             [](float a, float b) { return Flush(Flush(a) * Flush(b)); });
  s.Add<float(float, float)>("div.rn.ftz.f32 %d, %a, %b;", pairs,
                             [](float a, float b) { return Flush(Flush(a) / Flush(b)); });
  s.Add<float(float, float)>("mul.f32 %d, %a, %b;", pairs, [](float a, float b) { return a * b; });
  s.Add<float(float, float)>("add.sat.f32 %d, %a, %b;", pairs, [](float a, float b) { return Saturate(a + b); });
  s.Add<float(float, float)>("sub.ftz.sat.f32 %d, %a, %b;", pairs,
                             [](float a, float b) { return Saturate(Flush(Flush(a) - Flush(b))); });
  s.Add<float(float, float, float)>(
      "fma.rn.ftz.sat.f32 %d, %a, %b, %c;", Triples(FewFloats()),
      [](float a, float b, float c) { return Saturate(Flush(std::fma(Flush(a), Flush(b), Flush(c)))); });
  s.Add<float(float)>("neg.f32 %d, %a;", singles, [](float a) { return -a; });
  s.Add<float(float)>("neg.ftz.f32 %d, %a;", singles, [](float a) { return Flush(-a); });
  s.Add<float(float)>("abs.ftz.f32 %d, %a;", singles, [](float a) { return Flush(std::fabs(a)); });
  s.Add<float(float)>("sqrt.rn.ftz.f32 %d, %a;", singles, [](float a) { return std::sqrt(Flush(a)); });
  s.Check();
}

// mul and add stay two roundings; fma is one.
TEST(Floats, ProductsAndSumsAreNotFused) {
  Statements s;
  const auto t = Triples(FewFloats());
  s.Add<float(float, float, float)>("mul.f32 %x0, %a, %b; add.f32 %d, %x0, %c;", t,
                                    [](float a, float b, float c) { return Opaque(a * b) + c; });
  s.Add<float(float, float, float)>("mad.rn.f32 %d, %a, %b, %c;", t,
                                    [](float a, float b, float c) { return std::fma(a, b, c); });
  s.Check();
}

template <typename T>
T Least(T a, T b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
template <typename T>
T Greatest(T a, T b) {
  return -Least(-a, -b);
}

TEST(Floats, MinimaPreferNumbersAndNegativeZeros) {
  Statements s;
  const auto pairs = Pairs(Floats());
  const auto wide = Pairs(Doubles());
  const float nan = std::numeric_limits<float>::quiet_NaN();
  s.Add<float(float, float)>("min.f32 %d, %a, %b;", pairs, Least<float>);
  s.Add<float(float, float)>("max.f32 %d, %a, %b;", pairs, Greatest<float>);
  s.Add<float(float, float)>("max.ftz.f32 %d, %a, %b;", pairs,
                             [](float a, float b) { return Greatest(Flush(a), Flush(b)); });
  s.Add<float(float, float)>("min.NaN.f32 %d, %a, %b;", pairs,
                             [=](float a, float b) { return std::isnan(a) || std::isnan(b) ? nan : Least(a, b); });
  s.Add<double(double, double)>("min.f64 %d, %a, %b;", wide, Least<double>);
  s.Add<double(double, double)>("max.f64 %d, %a, %b;", wide, Greatest<double>);
  // With constants, for which less code is made.
  s.Add<float(float)>("max.f32 %d, %a, 0f00000000;", Singles(Floats()), [](float a) { return Greatest(a, 0.0f); });
  s.Add<float(float)>("max.f32 %d, 0f80000000, %a;", Singles(Floats()), [](float a) { return Greatest(a, -0.0f); });
  s.Add<float(float)>("min.f32 %d, %a, 0f00000000;", Singles(Floats()), [](float a) { return Least(a, 0.0f); });
  s.Add<float(float)>("min.f32 %d, 0f3F800000, %a;", Singles(Floats()), [](float a) { return Least(a, 1.0f); });
  s.Check();
}

template <typename T>
void AddComparisons(Statements& s, const char* type, const std::vector<T>& values) {
  const auto pairs = Pairs(values);
  const auto with = [&](const char* op) { return fmt::format("setp.{}.{} %d, %a, %b;", op, type); };
  const auto unordered = [](T a, T b) { return std::isnan(a) || std::isnan(b); };
  s.Add<bool(T, T)>(with("eq"), pairs, [](T a, T b) { return a == b; });
  s.Add<bool(T, T)>(with("ne"), pairs, [=](T a, T b) { return a != b && !unordered(a, b); });
  s.Add<bool(T, T)>(with("lt"), pairs, [](T a, T b) { return a < b; });
  s.Add<bool(T, T)>(with("ge"), pairs, [](T a, T b) { return a >= b; });
  s.Add<bool(T, T)>(with("equ"), pairs, [=](T a, T b) { return a == b || unordered(a, b); });
  s.Add<bool(T, T)>(with("neu"), pairs, [](T a, T b) { return a != b; });
  s.Add<bool(T, T)>(with("ltu"), pairs, [](T a, T b) { return !(a >= b); });
  s.Add<bool(T, T)>(with("gtu"), pairs, [](T a, T b) { return !(a <= b); });
  s.Add<bool(T, T)>(with("num"), pairs, [=](T a, T b) { return !unordered(a, b); });
  s.Add<bool(T, T)>(with("nan"), pairs, unordered);
}

TEST(Floats, ComparisonsOrderedAndUnordered) {
  Statements s;
  AddComparisons<float>(s, "f32", Floats());
  AddComparisons<double>(s, "f64", Doubles());
  s.Add<bool(float, float)>("setp.eq.ftz.f32 %d, %a, %b;", Pairs(Floats()),
                            [](float a, float b) { return Flush(a) == Flush(b); });
  s.Check();
}

TEST(Floats, SignsAndClasses) {
  Statements s;
  const auto singles = Singles(Floats());
  s.Add<float(float, float)>("copysign.f32 %d, %a, %b;", Pairs(Floats()),
                             [](float a, float b) { return std::copysign(b, a); });
  s.Add<double(double, double)>("copysign.f64 %d, %a, %b;", Pairs(Doubles()),
                                [](double a, double b) { return std::copysign(b, a); });
  s.Add<bool(float)>("testp.finite.f32 %d, %a;", singles, [](float a) { return std::isfinite(a); });
  s.Add<bool(float)>("testp.notanumber.f32 %d, %a;", singles, [](float a) { return std::isnan(a); });
  s.Add<bool(float)>("testp.infinite.f32 %d, %a;", singles, [](float a) { return std::isinf(a); });
  s.Add<bool(float)>("testp.number.f32 %d, %a;", singles, [](float a) { return !std::isnan(a); });
  s.Add<bool(float)>("testp.normal.f32 %d, %a;", singles, [](float a) { return a == 0 || std::isnormal(a); });
  s.Add<bool(float)>("testp.subnormal.f32 %d, %a;", singles,
                     [](float a) { return std::fpclassify(a) == FP_SUBNORMAL; });
  s.Check();
}

TEST(Floats, ApproximationsAreWithinTheStatedError) {
  Statements s;
  std::vector<float> angles, exponents, positive;
  for (int i = -320; i <= 320; ++i) angles.push_back(static_cast<float>(i) * 0.00981f);
  for (int i = -1200; i <= 1200; ++i) exponents.push_back(static_cast<float>(i) * 0.1051f);
  for (int i = -120; i <= 120; ++i) positive.push_back(std::ldexp(1.0f + 0.0057f * static_cast<float>(i + 120), i));
  // sin and cos: 2^-20.5 absolute; all others relative.
  s.AddNear<float(float)>(
      "sin.approx.f32 %x0, %a; add.f32 %d, %x0, 0f42C80000;", Singles(angles),
      [](float a) { return std::sin(double{a}) + 100; }, 0x1p-22);
  s.AddNear<float(float)>(
      "cos.approx.ftz.f32 %x0, %a; add.f32 %d, %x0, 0f42C80000;", Singles(angles),
      [](float a) { return std::cos(double{a}) + 100; }, 0x1p-22);
  s.AddNear<float(float)>(
      "ex2.approx.f32 %d, %a;", Singles(exponents), [](float a) { return std::exp2(double{a}); }, 0x1p-22);
  s.AddNear<float(float)>(
      "lg2.approx.f32 %d, %a;", Singles(positive), [](float a) { return std::log2(double{a}); }, 0x1p-21);
  s.AddNear<float(float)>(
      "rsqrt.approx.f32 %d, %a;", Singles(positive), [](float a) { return 1 / std::sqrt(double{a}); }, 0x1p-22);
  s.AddNear<float(float)>(
      "rcp.approx.ftz.f32 %d, %a;", Singles(positive), [](float a) { return 1 / double{a}; }, 0x1p-22);
  s.AddNear<float(float)>(
      "tanh.approx.f32 %d, %a;", Singles(angles), [](float a) { return std::tanh(double{a}); }, 0x1p-10);
  s.Add<float(float)>(
      "ex2.approx.f32 %d, %a;",
      Singles(std::vector<float>{-std::numeric_limits<float>::infinity(), 0.0f, 1.0f, 10.0f, 2000.0f, -2000.0f}),
      [](float a) { return std::exp2(a); });
  s.Add<float(float)>(
      "lg2.approx.f32 %d, %a;",
      Singles(std::vector<float>{0.0f, -0.0f, 1.0f, 8.0f, -1.0f, std::numeric_limits<float>::infinity()}),
      [](float a) { return std::log2(a); });
  s.Check();
}

}  // namespace
}  // namespace tutti::compiler
