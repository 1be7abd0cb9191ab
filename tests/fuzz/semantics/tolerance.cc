#include "tolerance.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "interpreter/float_format.h"
#include "interpreter/lanes.h"

namespace semantics {
namespace {

using namespace tutti;

struct Row {
  const char* opcode;
  const char* type;
  double ulps, relative, absolute;
};
constexpr Row kRows[] = {
#define TUTTI_APPROXIMATION(opcode, type, ulps, relative, absolute) {opcode, type, ulps, relative, absolute},
#include "approximations.def"
#undef TUTTI_APPROXIMATION
};

double Power(double exponent) { return exponent == 0 ? 0 : std::exp2(exponent); }

bool IsClose(const interpreter::FloatFormat& format, const Tolerance& tolerance, double exact, double got) {
  if (tolerance.exact()) return false;
  if (!std::isfinite(exact) || !std::isfinite(got)) return false;
  const int least = 1 - format.bias();  // of the exponents of normal numbers
  const double ulp = std::ldexp(1, std::max(std::ilogb(exact), least) - static_cast<int>(format.fraction_bits));
  const double allowed =
      std::max({tolerance.ulps * ulp, tolerance.relative * std::fabs(exact), tolerance.absolute}) + ulp / 2;
  if (std::fabs(exact - got) <= allowed) return true;
  return tolerance.flushes && std::max(std::fabs(exact), std::fabs(got)) <= std::ldexp(1, least) + 2 * ulp;
}

}  // namespace

Tolerance ToleranceOf(const std::string& form) {
  if (form.find(".approx") == std::string::npos && form.find(".full") == std::string::npos) return {};
  const std::string type = form.substr(form.rfind('.') + 1);
  const Row* found = nullptr;
  for (const Row& row : kRows) {
    if (type == row.type && form.starts_with(row.opcode) &&
        (found == nullptr || std::strlen(row.opcode) > std::strlen(found->opcode)))
      found = &row;
  }
  if (found == nullptr) {
    std::fprintf(stderr, "approximations.def has no row for %s\n", form.c_str());
    std::abort();
  }
  return {found->ulps, Power(found->relative), Power(found->absolute), form.find(".ftz") != std::string::npos};
}

bool Same(ptx::Type type, const Tolerance& tolerance, uint64_t expected, uint64_t got) {
  if (expected == got) return true;
  const interpreter::Packing packing = interpreter::PackingOf(type);
  const interpreter::FloatFormat* format = interpreter::FormatOf(packing.element);
  if (format == nullptr || format->bits < 16) return false;
  const uint32_t bits = ptx::BitsOf(packing.element), shift = type == ptx::Type::kTF32 ? 13 : 0;
  for (uint32_t i = 0; i < packing.count; ++i) {
    const uint64_t a = interpreter::LowBits(expected >> (bits * i + shift), bits),
                   b = interpreter::LowBits(got >> (bits * i + shift), bits);
    if (a == b || (interpreter::IsNan(*format, a) && interpreter::IsNan(*format, b))) continue;
    if (!IsClose(*format, tolerance, interpreter::ToDouble(*format, a), interpreter::ToDouble(*format, b)))
      return false;
  }
  return true;
}

}  // namespace semantics
