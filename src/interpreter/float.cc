// add, sub, mul, fma, mad, div, sqrt, rcp of all floating-point types, where the result is exact up to one rounding.
#include <cmath>

#include "interpreter/families.h"
#include "interpreter/float_format.h"
#include "interpreter/lanes.h"

namespace tutti::interpreter {
namespace {

// One instruction on every element: sources of `source` (add.f32.f16 takes narrower ones), the last of `last`.
class FloatLanes {
 public:
  explicit FloatLanes(Step& step)
      : step_(step), ftz_(step.Has(Modifier::kFtz)), sat_(step.Has(Modifier::kSat)), relu_(step.Has(Modifier::kRelu)) {}

  void Run(FloatOperation operation, bool negate_second = false) {
    const Rounding rounding = RoundingOf(step_);
    ForEachLane(step_, step_.type(), [&](Type type, std::span<const uint64_t> in) {
      const FloatFormat& format = *FormatOf(type);
      double values[3] = {};
      for (size_t i = 0; i < in.size() && i < 3; ++i) values[i] = ToDouble(format, ftz_ ? Flush(format, in[i]) : in[i]);
      if (negate_second) values[1] = -values[1];
      return Finish(format, Compute(format, operation, values[0], values[1], values[2], rounding));
    });
  }

  // add, sub and fma of two types: all sources but the last are of the narrow one.
  void RunMixed(FloatOperation operation, bool negate_second) {
    const Rounding rounding = RoundingOf(step_);
    const FloatFormat &wide = *FormatOf(step_.type()), &narrow = *FormatOf(step_.last_type());
    double values[3] = {};
    for (size_t i = 1; i < step_.count(); ++i) {
      const bool last = i + 1 == step_.count();
      values[i - 1] = ToDouble(last ? wide : narrow, step_.Get(i, last ? step_.type() : step_.last_type()));
    }
    if (negate_second) values[1] = -values[1];
    step_.Put(0, step_.type(), Finish(wide, Compute(wide, operation, values[0], values[1], values[2], rounding)));
  }

 private:
  uint64_t Finish(const FloatFormat& format, uint64_t result) const {
    if (ftz_) result = Flush(format, result);
    if (sat_) result = ClampToUnit(format, result);
    if (relu_ && !IsNan(format, result) && (result & format.sign()) != 0) result = 0;
    return result;
  }

  Step& step_;
  bool ftz_, sat_, relu_;
};

}  // namespace

void FloatAddSubtract(Step& step) {
  const bool subtract = step.in.opcode == ptx::Opcode::kSub;
  FloatLanes lanes(step);
  if (step.type() != step.last_type())
    lanes.RunMixed(FloatOperation::kAdd, subtract);
  else
    lanes.Run(FloatOperation::kAdd, subtract);
}

void FloatMultiply(Step& step) { FloatLanes(step).Run(FloatOperation::kMultiply); }

void FloatMultiplyAdd(Step& step) {
  FloatLanes lanes(step);
  if (step.type() != step.last_type())
    lanes.RunMixed(FloatOperation::kMultiplyAdd, false);
  else
    lanes.Run(FloatOperation::kMultiplyAdd);
}

void FloatDivide(Step& step) {
  if (step.Has(Modifier::kApprox) || step.Has(Modifier::kFull)) return Approximate(step);
  FloatLanes(step).Run(FloatOperation::kDivide);
}

// sqrt and rcp.
void FloatRoot(Step& step) {
  if (step.Has(Modifier::kApprox)) return Approximate(step);
  const bool reciprocal = step.in.opcode == ptx::Opcode::kRcp, ftz = step.Has(Modifier::kFtz);
  const Rounding rounding = RoundingOf(step);
  const FloatFormat& format = *FormatOf(step.type());
  uint64_t source = step.Get(1, step.type());
  if (ftz) source = Flush(format, source);
  const double a = ToDouble(format, source);
  uint64_t result = reciprocal ? Compute(format, FloatOperation::kDivide, 1, a, 0, rounding)
                               : Compute(format, FloatOperation::kRoot, a, 0, 0, rounding);
  if (ftz) result = Flush(format, result);
  step.Put(0, step.type(), result);
}

}  // namespace tutti::interpreter
