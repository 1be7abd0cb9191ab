// Floating-point instructions that choose or change signs and compute nothing: abs, neg, min, max, copysign, testp.
#include <algorithm>

#include "interpreter/families.h"
#include "interpreter/float_format.h"
#include "interpreter/lanes.h"

namespace tutti::interpreter {

void FloatSign(Step& step) {
  const bool negate = step.in.opcode == ptx::Opcode::kNeg, ftz = step.Has(Modifier::kFtz);
  ForEachLane(step, step.type(), [&](Type type, std::span<const uint64_t> in) {
    const FloatFormat& format = *FormatOf(type);
    const uint64_t a = ftz ? Flush(format, in[0]) : in[0];
    return negate ? a ^ format.sign() : a & ~format.sign();
  });
}

// Of two sources or three. .abs takes magnitudes; .xorsign then gives the result the product of the sources' signs.
void FloatMinMax(Step& step) {
  const bool max = step.in.opcode == ptx::Opcode::kMax, ftz = step.Has(Modifier::kFtz),
             keep_nan = step.Has(Modifier::kPropagateNan);
  const bool xorsign = step.Has(Modifier::kXorsign), absolute = step.Has(Modifier::kAbs);
  ForEachLane(step, step.type(), [&](Type type, std::span<const uint64_t> in) {
    const FloatFormat& format = *FormatOf(type);
    uint64_t result = 0, signs = 0;
    for (size_t i = 0; i < in.size(); ++i) {
      uint64_t value = ftz ? Flush(format, in[i]) : in[i];
      signs ^= value & format.sign();
      if (absolute) value &= ~format.sign();
      result = i == 0 ? value : ChooseFloat(format, result, value, max, keep_nan);
    }
    if (IsNan(format, result)) return format.canonical_nan;
    return xorsign ? (result & ~format.sign()) | signs : result;
  });
}

void CopySign(Step& step) {
  const uint64_t sign = FormatOf(step.type())->sign();
  step.Put(0, step.type(), (step.Get(1, step.type()) & sign) | (step.Get(2, step.type()) & ~sign));
}

// Zeros are normal numbers.
void TestProperty(Step& step) {
  const FloatFormat& format = *FormatOf(step.type());
  const uint64_t a = step.Get(1, step.type()), magnitude = a & (format.sign() - 1);
  const bool finite = magnitude < format.infinity, nan = IsNan(format, a), subnormal = IsSubnormal(format, a);
  bool result = false;
  if (step.Has(Modifier::kFinite)) result = finite;
  if (step.Has(Modifier::kInfinite)) result = magnitude == format.infinity;
  if (step.Has(Modifier::kNumber)) result = !nan;
  if (step.Has(Modifier::kNotanumber)) result = nan;
  if (step.Has(Modifier::kNormal)) result = finite && !subnormal;
  if (step.Has(Modifier::kSubnormal)) result = subnormal;
  step.Put(0, Type::kPred, result);
}

}  // namespace tutti::interpreter
