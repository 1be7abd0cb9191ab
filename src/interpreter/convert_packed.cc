// cvt to and from pairs, and cvt.pack of integers.
#include <algorithm>
#include <cmath>

#include "interpreter/families.h"
#include "interpreter/float_format.h"

namespace tutti::interpreter {
namespace {

// Bits of one element of a pair in its register.
uint32_t PlaceBits(Type type) {
  switch (type) {
    case Type::kE2M1x2: return 4;
    case Type::kF16x2:
    case Type::kBF16x2: return 16;
    default: return 8;
  }
}

// cvt.pack: two 32-bit numbers, clamped, above what of a third fits.
void PackIntegers(Step& step) {
  step.Accept({Modifier::kPack, Modifier::kSat});
  const Type to = step.type(0), from = step.type(1);
  const uint32_t bits = ptx::BitsOf(to);
  const auto clamped = [&](size_t operand) {
    const __int128 low = ptx::IsSigned(to) ? -(__int128{1} << (bits - 1)) : 0,
                   high = (__int128{1} << (ptx::IsSigned(to) ? bits - 1 : bits)) - 1;
    return LowBits(static_cast<uint64_t>(std::clamp(step.Number(operand, from), low, high)), bits);
  };
  uint64_t result = clamped(1) << bits | clamped(2);
  if (step.count() > 3) result |= step.Get(3, Type::kB32) << (2 * bits);
  step.Put(0, Type::kB32, result);
}

// A scale of eight bits: 2 to the value less 127.
uint64_t ToScale(double value, Rounding rounding, bool finite) {
  if (std::isnan(value)) return 0xff;
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return finite ? 0xfe : 0xff;
  if (magnitude <= std::ldexp(1.0, -127))
    return rounding == Rounding::kZero || magnitude <= std::ldexp(1.0, -127) ? 0 : 1;
  int exponent;
  const double fraction = std::frexp(magnitude, &exponent);
  int scale = exponent - 1 + 127;
  if (rounding == Rounding::kUp && fraction != 0.5) ++scale;
  return static_cast<uint64_t>(std::min(scale, finite ? 0xfe : 0xff));
}

uint64_t ConvertOne(Step& step, Type to, double value, Rounding rounding) {
  const bool relu = step.Has(Modifier::kRelu), finite = step.Has(Modifier::kSatfinite);
  if (to == Type::kUE8M0x2) return ToScale(value, rounding, finite);
  const FloatFormat& format = *FormatOf(to);
  uint64_t result = FromDouble(format, value, rounding, finite);
  if (relu && !IsNan(format, result) && (result & format.sign()) != 0) result = 0;
  return result;
}

}  // namespace

void ConvertPacked(Step& step) {
  if (step.Has(Modifier::kPack)) return PackIntegers(step);
  if (step.Has(Modifier::kRs)) return ConvertStochastically(step);
  const Type to = step.type(0), from = step.last_type();
  const Rounding rounding = RoundingOf(step);
  double upper, lower;
  if (from == Type::kF32) {
    upper = ToDouble(kF32, step.Get(1, from));
    lower = ToDouble(kF32, step.Get(2, from));
  } else {
    const uint32_t place = PlaceBits(from);
    const uint64_t pair = static_cast<uint64_t>(step.Wide(step.in.operands[1], from));
    const auto value = [&](uint64_t bits) {
      bits = LowBits(bits, place);
      if (from == Type::kUE8M0x2) return bits == 0xff ? std::nan("") : std::ldexp(1.0, static_cast<int>(bits) - 127);
      return ToDouble(*FormatOf(from), LowBits(bits, FormatOf(from)->bits));
    };
    upper = value(pair >> place);
    lower = value(pair);
  }
  const uint32_t place = PlaceBits(to);
  step.Put(0, to, ConvertOne(step, to, upper, rounding) << place | ConvertOne(step, to, lower, rounding));
}

}  // namespace tutti::interpreter
