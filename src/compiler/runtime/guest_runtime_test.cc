#include "compiler/runtime/guest_runtime.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>

#include "compiler/runtime/vector_function.h"

namespace tutti::compiler {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// The levels that this machine can run, and one without fused multiply-add.
std::vector<std::string> Processors() {
  std::vector<std::string> names = {"x86-64-v2"};
  const VectorLevel level = HostTarget::Detect().level;
  if (level >= VectorLevel::kAvx2) names.push_back("x86-64-v3");
  if (level >= VectorLevel::kAvx512) names.push_back("x86-64-v4");
  return names;
}

class GuestRuntime : public testing::TestWithParam<std::string> {
 protected:
  VectorFunction Function(const std::string& name, const std::string& type, uint32_t arguments) {
    auto function = VectorFunction::Compile("tutti_v_" + name, {type}, std::vector<std::string>(arguments, type),
                                            HostTarget::Named(GetParam()));
    EXPECT_TRUE(function) << function.error().text;
    return std::move(*function);
  }
  float One(const VectorFunction& function, float x) {
    std::vector<float> in(32, x), out(32);
    function.Apply<float>(32, out.data(), {in.data()});
    for (const float y : out) EXPECT_EQ(std::bit_cast<uint32_t>(y), std::bit_cast<uint32_t>(out[0]));
    return out[0];
  }
  // Largest error(x, f(x)) over [low, high].
  template <typename Error>
  double Worst(const VectorFunction& function, double low, double high, Error error) {
    constexpr size_t kSamples = 1 << 20;
    std::vector<float> in(kSamples), out(kSamples);
    for (size_t i = 0; i < kSamples; ++i)
      in[i] = static_cast<float>(low + (high - low) * static_cast<double>(i) / (kSamples - 1));
    function.Apply<float>(kSamples, out.data(), {in.data()});
    double worst = 0;
    for (size_t i = 0; i < kSamples; ++i)
      worst = std::max(worst, error(static_cast<double>(in[i]), static_cast<double>(out[i])));
    return worst;
  }
};
INSTANTIATE_TEST_SUITE_P(Level, GuestRuntime, testing::ValuesIn(Processors()),
                         [](const auto& info) { return info.param.substr(info.param.size() - 2); });

TEST_P(GuestRuntime, HasEveryFunctionOfItsTable) {
#define TUTTI_FN(name, text, result, ...) {#name, #result, #__VA_ARGS__},
  const struct {
    std::string name, result, arguments;
  } rows[] = {
#include "compiler/runtime/functions.def"
  };
#undef TUTTI_FN
  for (const auto& row : rows) {
    const auto arguments = static_cast<uint32_t>(std::count(row.arguments.begin(), row.arguments.end(), ',') + 1);
    Function(row.name, row.result == "f32" ? "float" : row.result == "f64" ? "double" : row.result, arguments);
  }
}

TEST_P(GuestRuntime, SinAndCosAreWithinTheirAbsoluteError) {
  const auto sin_error = [](double x, double y) { return std::abs(std::sin(x) - y); };
  const auto cos_error = [](double x, double y) { return std::abs(std::cos(x) - y); };
  const VectorFunction sin = Function("sin_f32", "float", 1), cos = Function("cos_f32", "float", 1);
  EXPECT_LE(Worst(sin, -6.2832, 6.2832, sin_error), std::exp2(-20.5));
  EXPECT_LE(Worst(cos, -6.2832, 6.2832, cos_error), std::exp2(-20.5));
  EXPECT_LE(Worst(sin, -314.16, 314.16, sin_error), std::exp2(-20.5));
  EXPECT_LE(Worst(cos, -100000.0, 100000.0, cos_error), std::exp2(-14.7));
  const auto magnitude = [](double, double y) { return std::abs(y); };
  EXPECT_LE(Worst(sin, 1e30, 3e38, magnitude), 1.0);
  EXPECT_LE(Worst(sin, 1.57, 1.6, magnitude), 1.0);
  EXPECT_LE(Worst(sin, -316.0, 316.0, magnitude), 1.0);
  EXPECT_LE(Worst(cos, -316.0, 316.0, magnitude), 1.0);
}

TEST_P(GuestRuntime, SinAndCosOfSpecialValues) {
  const VectorFunction sin = Function("sin_f32", "float", 1), cos = Function("cos_f32", "float", 1);
  EXPECT_TRUE(std::isnan(One(sin, kInf)));
  EXPECT_TRUE(std::isnan(One(cos, -kInf)));
  EXPECT_TRUE(std::isnan(One(sin, std::nanf(""))));
  EXPECT_EQ(One(cos, 0.0f), 1.0f);
  EXPECT_EQ(std::bit_cast<uint32_t>(One(sin, -0.0f)), 0x80000000u);
  EXPECT_EQ(One(sin, 1e-40f), 1e-40f);
}

TEST_P(GuestRuntime, Ex2IsWithinTwoUlp) {
  const VectorFunction ex2 = Function("ex2_f32", "float", 1);
  const auto ulps = [](double x, double y) {
    const double exact = std::exp2(x);
    const double ulp = std::max(std::ldexp(1.0, std::ilogb(exact) - 23), 0x1p-149);
    return std::abs(exact - y) / ulp;
  };
  EXPECT_LE(Worst(ex2, -126.0, 127.99, ulps), 2.0);
  EXPECT_LE(Worst(ex2, -149.0, -126.0, ulps), 2.0);
  EXPECT_EQ(One(ex2, -kInf), 0.0f);
  EXPECT_EQ(One(ex2, kInf), kInf);
  EXPECT_EQ(One(ex2, 128.0f), kInf);
  EXPECT_EQ(One(ex2, -1e30f), 0.0f);
  EXPECT_EQ(One(ex2, 0.0f), 1.0f);
  EXPECT_TRUE(std::isnan(One(ex2, std::nanf(""))));
}

TEST_P(GuestRuntime, Lg2IsWithinItsError) {
  const VectorFunction lg2 = Function("lg2_f32", "float", 1);
  EXPECT_LE(Worst(lg2, 0.5, 2.0, [](double x, double y) { return std::abs(std::log2(x) - y); }), 0x1p-22);
  const auto relative = [](double x, double y) { return std::abs(std::log2(x) - y) / std::abs(std::log2(x)); };
  EXPECT_LE(Worst(lg2, 2.001, 1e9, relative), 0x1p-22);
  EXPECT_LE(Worst(lg2, 1e-37, 0.4999, relative), 0x1p-22);
  EXPECT_LE(Worst(lg2, 1e-44, 1e-38, relative), 0x1p-22);
  EXPECT_EQ(One(lg2, 0.0f), -kInf);
  EXPECT_EQ(One(lg2, -0.0f), -kInf);
  EXPECT_EQ(One(lg2, kInf), kInf);
  EXPECT_EQ(One(lg2, 1.0f), 0.0f);
  EXPECT_EQ(One(lg2, 0x1p-149f), -149.0f);
  EXPECT_TRUE(std::isnan(One(lg2, -1.0f)));
  EXPECT_TRUE(std::isnan(One(lg2, std::nanf(""))));
}

TEST_P(GuestRuntime, TanhIsWithinItsRelativeError) {
  const VectorFunction tanh = Function("tanh_f32", "float", 1);
  const auto relative = [](double x, double y) {
    return x == 0 ? 0 : std::abs(std::tanh(x) - y) / std::abs(std::tanh(x));
  };
  EXPECT_LE(Worst(tanh, -12.0, 12.0, relative), 0x1p-15);
  EXPECT_LE(Worst(tanh, -0.01, 0.01, relative), 0x1p-15);
  EXPECT_LE(Worst(tanh, -1e-6, 1e-6, relative), 0x1p-20);
  EXPECT_LE(Worst(tanh, -1e30, 1e30, [](double, double y) { return std::abs(y); }), 1.0);
  EXPECT_EQ(One(tanh, kInf), 1.0f);
  EXPECT_EQ(One(tanh, -kInf), -1.0f);
  EXPECT_EQ(std::bit_cast<uint32_t>(One(tanh, -0.0f)), 0x80000000u);
  EXPECT_TRUE(std::isnan(One(tanh, std::nanf(""))));
}

// A million numbers, as many of each magnitude and sign: against the same functions in double precision.
TEST_P(GuestRuntime, ErrorsHoldAtEveryMagnitude) {
  std::vector<float> in, out;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 4093) in.push_back(std::bit_cast<float>(uint32_t(bits)));
  in.resize(in.size() / 32 * 32);
  out.resize(in.size());
  const struct {
    const char* name;
    double (*exact)(double);
    double (*allowed)(double x, double exact);  // 0: no error is stated
  } functions[] = {
      {"sin_f32", [](double x) { return std::sin(x); },
       [](double x, double) { return std::abs(x) < 6.2832 ? std::exp2(-20.5) : 0; }},
      {"cos_f32", [](double x) { return std::cos(x); },
       [](double x, double) { return std::abs(x) < 6.2832 ? std::exp2(-20.5) : 0; }},
      {"ex2_f32", [](double x) { return std::exp2(x); },
       [](double, double exact) { return 2 * std::ldexp(1.0, std::max(std::ilogb(exact) - 23, -149)); }},
      {"lg2_f32", [](double x) { return std::log2(x); },
       [](double x, double exact) { return 0x1p-22 * (x > 0.5 && x < 2 ? 1 : std::abs(exact)); }},
      {"tanh_f32", [](double x) { return std::tanh(x); },
       [](double, double exact) { return 0x1p-11 * std::abs(exact); }},
  };
  for (const auto& function : functions) {
    Function(function.name, "float", 1).Apply<float>(in.size(), out.data(), {in.data()});
    size_t wrong = 0;
    for (size_t i = 0; i < in.size(); ++i) {
      const double x = static_cast<double>(in[i]), y = static_cast<double>(out[i]), exact = function.exact(x);
      const double rounded = static_cast<double>(static_cast<float>(exact));
      if (std::isnan(exact) ? std::isnan(y) : y == rounded) continue;
      const double allowed = std::isnan(exact) || std::isinf(rounded) ? -1 : function.allowed(x, exact);
      if (allowed == 0 || (std::isfinite(y) && std::abs(y - exact) <= allowed)) continue;
      if (++wrong <= 3) ADD_FAILURE() << function.name << " of " << in[i] << " is " << out[i] << ", not " << exact;
    }
    EXPECT_EQ(wrong, 0u) << function.name;
  }
}

// Of each exponent and sign 4,096 numbers: what lower/flushes.cc relies on.
TEST_P(GuestRuntime, OfNormalNumbersNoneIsSubnormal) {
  constexpr uint32_t kFractions = 4096;
  std::mt19937 random(11);
  std::vector<float> in, out;
  for (uint32_t top = 0; top < 512; ++top) {
    for (uint32_t i = 0; i < kFractions; ++i) {
      const auto fraction = static_cast<uint32_t>(random() % 0x800000);
      in.push_back(std::bit_cast<float>(top << 23 | (i == 0 ? 0 : i == 1 ? 0x7fffff : fraction)));
    }
  }
  out.resize(in.size());
  for (const char* name : {"sin_f32", "cos_f32", "lg2_f32", "tanh_f32"}) {
    Function(name, "float", 1).Apply<float>(in.size(), out.data(), {in.data()});
    for (size_t i = 0; i < in.size(); ++i) {
      if (std::fpclassify(in[i]) == FP_SUBNORMAL) continue;
      ASSERT_NE(std::fpclassify(out[i]), FP_SUBNORMAL) << name << " of " << in[i];
    }
  }
}

// Operands that meet every case of rounding: any bits, near cancellation, the edges of the range.
template <typename T, typename Bits>
std::vector<T> Operands(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  constexpr T kEdges[] = {0,
                          T(-0.0),
                          1,
                          -1,
                          std::numeric_limits<T>::infinity(),
                          -std::numeric_limits<T>::infinity(),
                          std::numeric_limits<T>::max(),
                          std::numeric_limits<T>::lowest(),
                          std::numeric_limits<T>::min(),
                          std::numeric_limits<T>::denorm_min(),
                          std::numeric_limits<T>::quiet_NaN(),
                          T(3),
                          T(1) / 3};
  std::vector<T> values(count);
  for (T& value : values) {
    const uint64_t kind = random() % 8;
    if (kind == 0) {
      value = kEdges[random() % std::size(kEdges)];
    } else if (kind < 4) {
      value = std::bit_cast<T>(static_cast<Bits>(random()));
    } else {
      value = static_cast<T>(static_cast<double>(static_cast<int64_t>(random())) * 0x1p-62);
    }
  }
  return values;
}

template <typename T>
bool Same(T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b);
}

// Reference: the host's own instruction under fesetround. The volatiles keep it between the two calls.
template <typename T>
T Reference(const std::string& operation, int mode, T a, T b, T c) {
  volatile T x = a, y = b, z = c;
  std::fesetround(mode);
  volatile T result = operation == "fma" ? std::fma(x, y, z) : operation == "div" ? x / y : std::sqrt(x);
  std::fesetround(FE_TONEAREST);
  return result;
}

template <typename T, typename Bits, typename Compile>
void CheckDirected(const std::string& type_name, const Compile& compile) {
  constexpr size_t kCount = 1 << 14;
  const auto a = Operands<T, Bits>(kCount, 1), b = Operands<T, Bits>(kCount, 2);
  auto c = Operands<T, Bits>(kCount, 3);
  for (size_t i = 0; i < kCount; i += 3) c[i] = -(a[i] * b[i]);  // what is left is the product's rounding error
  const struct {
    const char* name;
    int mode;
  } modes[] = {{"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}};
  for (const auto& mode : modes) {
    for (const std::string operation : {"fma", "div", "sqrt"}) {
      const uint32_t arguments = operation == "fma" ? 3 : operation == "div" ? 2 : 1;
      const VectorFunction function = compile(operation + "_" + mode.name + "_" + type_name, arguments);
      std::vector<T> out(kCount);
      if (arguments == 3) function.Apply<T>(kCount, out.data(), {a.data(), b.data(), c.data()});
      if (arguments == 2) function.Apply<T>(kCount, out.data(), {a.data(), b.data()});
      if (arguments == 1) function.Apply<T>(kCount, out.data(), {a.data()});
      size_t wrong = 0;
      for (size_t i = 0; i < kCount; ++i) {
        const T expected = Reference(operation, mode.mode, a[i], b[i], c[i]);
        if (Same(out[i], expected)) continue;
        if (++wrong <= 3)
          ADD_FAILURE() << operation << '.' << mode.name << " of " << a[i] << ", " << b[i] << ", " << c[i] << " is "
                        << out[i] << ", not " << expected;
      }
      EXPECT_EQ(wrong, 0u);
    }
  }
}

TEST_P(GuestRuntime, DirectedRoundingIsExactInF32) {
  CheckDirected<float, uint32_t>("f32",
                                 [this](const std::string& name, uint32_t n) { return Function(name, "float", n); });
}

TEST_P(GuestRuntime, DirectedRoundingIsExactInF64) {
  CheckDirected<double, uint64_t>("f64",
                                  [this](const std::string& name, uint32_t n) { return Function(name, "double", n); });
}

// Rounded down and up, a number that is none has two neighbours, of which one is odd.
void CheckOdd(const VectorFunction& function, const std::vector<float>& a, const std::vector<float>& b,
              const std::vector<float>& c) {
  std::vector<float> out(a.size());
  function.Apply<float>(a.size(), out.data(), {a.data(), b.data(), c.data()});
  size_t wrong = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const float down = Reference("fma", FE_DOWNWARD, a[i], b[i], c[i]),
                up = Reference("fma", FE_UPWARD, a[i], b[i], c[i]);
    const float expected = Same(down, up)                             ? down
                           : down == up                               ? 0.0f  // -0 and +0
                           : (std::bit_cast<uint32_t>(down) & 1) != 0 ? down
                                                                      : up;
    if (Same(out[i], expected)) continue;
    if (++wrong <= 3)
      ADD_FAILURE() << a[i] << " * " << b[i] << " + " << c[i] << " is " << out[i] << ", not " << expected;
  }
  EXPECT_EQ(wrong, 0u);
}

TEST_P(GuestRuntime, RoundingToOddIsExactForFloats) {
  constexpr size_t kCount = 1 << 14;
  const auto a = Operands<float, uint32_t>(kCount, 1), b = Operands<float, uint32_t>(kCount, 2);
  auto c = Operands<float, uint32_t>(kCount, 3);
  for (size_t i = 0; i < kCount; i += 3) c[i] = -(a[i] * b[i]);
  CheckOdd(Function("fma_odd_f32", "float", 3), a, b, c);
}

TEST_P(GuestRuntime, RoundingToOddIsExactForHalves) {
  constexpr size_t kCount = 1 << 16;
  std::mt19937_64 random(7);
  std::vector<float> operands[3];
  for (std::vector<float>& values : operands) {
    for (size_t i = 0; i < kCount; ++i) {
      const uint64_t bits = random();
      float value = std::ldexp(static_cast<float>(bits % 1024), -24);  // below the normal ones
      if (bits >> 32 & 7)
        value = std::ldexp(static_cast<float>(1024 + bits % 1024), static_cast<int>(bits >> 10 & 31) % 30 - 24);
      if ((bits >> 40 & 63) == 0) value = bits >> 50 & 1 ? kInf : std::numeric_limits<float>::quiet_NaN();
      values.push_back(bits >> 63 ? -value : value);
    }
  }
  CheckOdd(Function("fma_odd_f16", "float", 3), operands[0], operands[1], operands[2]);
}

// SSE4A does not include SSSE3, whose shuffle chooses bytes where there is one.
TEST(GuestRuntimeOfOlderProcessors, BytesAreChosenWithoutShuffles) {
  for (const char* processor : {"x86-64", "amdfam10", "core2", "x86-64-v2"}) {
    auto prmt = VectorFunction::Compile("tutti_v_prmt", {"i32"}, {"i32", "i32", "i32"}, HostTarget::Named(processor));
    ASSERT_TRUE(prmt) << processor << ": " << prmt.error().text;
    const std::vector<uint32_t> a(32, 0x8370f201), b(32, 0x4c05b637), selector(32, 0xffff9c50);
    std::vector<uint32_t> out(32);
    prmt->Apply<uint32_t>(32, out.data(), {a.data(), b.data(), selector.data()});
    EXPECT_EQ(out, std::vector<uint32_t>(32, 0xff00b601)) << processor;
  }
}

}  // namespace
}  // namespace tutti::compiler
