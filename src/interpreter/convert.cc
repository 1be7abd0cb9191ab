// cvt between two scalar types.
#include <cmath>

#include "interpreter/families.h"
#include "interpreter/float_format.h"
#include "interpreter/lanes.h"

namespace tutti::interpreter {
namespace {

// An integer as a double rounded to odd (exact up to 53 bits).
double OddDouble(__int128 value) {
  const bool negative = value < 0;
  Bits magnitude = static_cast<Bits>(negative ? -value : value);
  int shift = 0;
  bool lost = false;
  for (; magnitude >> 53 != 0; magnitude >>= 1, ++shift) lost |= (magnitude & 1) != 0;
  if (lost) magnitude |= 1;
  const double result = std::ldexp(static_cast<double>(static_cast<uint64_t>(magnitude)), shift);
  return negative ? -result : result;
}

struct Range {
  __int128 low, high;
};
Range RangeOf(Type type) {
  const uint32_t bits = ptx::BitsOf(type);
  if (!ptx::IsSigned(type)) return {0, (__int128{1} << bits) - 1};
  return {-(__int128{1} << (bits - 1)), (__int128{1} << (bits - 1)) - 1};
}

void IntegerToInteger(Step& step, Type to, Type from) {
  __int128 value = step.Number(1, from);
  const Range range = RangeOf(to);
  if (step.Has(Modifier::kSat)) value = value < range.low ? range.low : value > range.high ? range.high : value;
  step.Put(0, to, static_cast<uint64_t>(value));
}

// Out of range: the nearest that there is. NaN: zero if neither side has 64 bits, else the highest bit alone.
void FloatToInteger(Step& step, Type to, Type from) {
  const FloatFormat& format = *FormatOf(from);
  step.Accept({Modifier::kSat});
  uint64_t source = step.Get(1, from);
  const bool ftz = step.Has(Modifier::kFtz);
  const Rounding rounding = RoundingOf(step);
  if (ftz) source = Flush(format, source);
  const double value = ToDouble(format, source);
  const uint32_t bits = ptx::BitsOf(to);
  if (std::isnan(value)) return step.Put(0, to, from != Type::kF64 && bits != 64 ? 0 : uint64_t{1} << (bits - 1));
  const double integral = RoundToIntegral(value, rounding);
  const Range range = RangeOf(to);
  __int128 result;
  if (integral >= std::ldexp(1.0, 65))
    result = range.high;
  else if (integral <= -std::ldexp(1.0, 65))
    result = range.low;
  else
    result = static_cast<__int128>(integral);
  result = result < range.low ? range.low : result > range.high ? range.high : result;
  step.Put(0, to, static_cast<uint64_t>(result));
}

void IntegerToFloat(Step& step, Type to, Type from) {
  const FloatFormat& format = *FormatOf(to);
  const Rounding rounding = RoundingOf(step);
  const __int128 number = step.Number(1, from);
  uint64_t result;
  if (format == kF64) {  // the only format as wide as the double that it goes through
    const double odd = OddDouble(number);
    const bool exact = static_cast<__int128>(odd) == number;
    double value = static_cast<double>(odd);
    if (!exact) {
      const bool negative = number < 0;
      const Bits magnitude = static_cast<Bits>(negative ? -number : number);
      int shift = 0;
      while (magnitude >> (53 + shift) != 0) ++shift;
      uint64_t kept = static_cast<uint64_t>(magnitude >> shift);
      const Bits rest = magnitude & ((Bits{1} << shift) - 1), half = Bits{1} << (shift - 1);
      const bool up = rounding == Rounding::kNearestEven ? rest > half || (rest == half && (kept & 1) != 0)
                      : rounding == Rounding::kUp        ? !negative
                      : rounding == Rounding::kDown      ? negative
                                                         : false;
      if (up) ++kept;
      value = std::ldexp(static_cast<double>(kept), shift) * (negative ? -1 : 1);
    }
    result = FromDouble(kF64, value, rounding);
  } else {
    result = FromDouble(format, OddDouble(number), rounding);
  }
  if (step.Has(Modifier::kSat)) result = ClampToUnit(format, result);
  step.Put(0, to, result);
}

// .rni and the like give integral values in the same format.
void FloatToFloat(Step& step, Type to, Type from) {
  const FloatFormat &source = *FormatOf(from), &target = *FormatOf(to);
  const bool ftz = step.Has(Modifier::kFtz), sat = step.Has(Modifier::kSat), relu = step.Has(Modifier::kRelu),
             finite = step.Has(Modifier::kSatfinite);
  const bool integral =
      step.Has(Modifier::kRni) || step.Has(Modifier::kRzi) || step.Has(Modifier::kRmi) || step.Has(Modifier::kRpi);
  const Rounding rounding = RoundingOf(step);
  uint64_t bits = step.Get(1, from);
  if (ftz && from == Type::kF32) bits = Flush(source, bits);
  double value = ToDouble(source, bits);
  if (integral) value = std::copysign(RoundToIntegral(value, rounding), value);
  uint64_t result = FromDouble(target, value, rounding, finite);
  if (ftz && to == Type::kF32) result = Flush(target, result);
  if (sat) result = ClampToUnit(target, result);
  if (relu && !IsNan(target, result) && (result & target.sign()) != 0) result = 0;
  step.Put(0, to, to == Type::kTF32 ? result << 13 : result);
}

}  // namespace

void Convert(Step& step) {
  const Type to = step.type(0), from = step.last_type();
  const bool packed =
      step.count() > 2 || PackingOf(to).count == 2 || PackingOf(from).count == 2 || step.Has(Modifier::kPack) ||
      (FormatOf(from) != nullptr && ptx::BitsOf(to) != 0 && FormatOf(to) != nullptr && FormatOf(to)->bits < 16);
  if (packed) return ConvertPacked(step);
  const bool to_float = FormatOf(to) != nullptr, from_float = FormatOf(from) != nullptr;
  if (to_float && from_float) return FloatToFloat(step, to, from);
  if (to_float) return IntegerToFloat(step, to, from);
  if (from_float) return FloatToInteger(step, to, from);
  IntegerToInteger(step, to, from);
}

}  // namespace tutti::interpreter
