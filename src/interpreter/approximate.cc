// .approx and .full: the exact value, rounded to nearest. Comparisons must allow the ISA's tolerance.
#include <bit>
#include <cmath>

#include "interpreter/families.h"
#include "interpreter/float_format.h"
#include "interpreter/lanes.h"

namespace tutti::interpreter {
namespace {

double Function(ptx::Opcode opcode, double a, double b) {
  switch (opcode) {
    case ptx::Opcode::kDiv: return a / b;
    case ptx::Opcode::kRcp: return 1 / a;
    case ptx::Opcode::kSqrt: return std::sqrt(a);
    case ptx::Opcode::kRsqrt: return 1 / std::sqrt(a);
    case ptx::Opcode::kSin: return std::sin(a);
    case ptx::Opcode::kCos: return std::cos(a);
    case ptx::Opcode::kEx2: return std::exp2(a);
    case ptx::Opcode::kLg2: return std::log2(a);
    default: return std::tanh(a);
  }
}

}  // namespace

void Approximate(Step& step) {
  step.Accept({Modifier::kApprox, Modifier::kFull});
  const bool ftz = step.Has(Modifier::kFtz);
  ForEachLane(step, step.type(), [&](Type type, std::span<const uint64_t> in) {
    const FloatFormat& format = *FormatOf(type);
    double values[2] = {};
    for (size_t i = 0; i < in.size() && i < 2; ++i) values[i] = ToDouble(format, ftz ? Flush(format, in[i]) : in[i]);
    const uint64_t result = FromDouble(format, Function(step.in.opcode, values[0], values[1]), Rounding::kNearestEven);
    return ftz ? Flush(format, result) : result;
  });
}

}  // namespace tutti::interpreter
