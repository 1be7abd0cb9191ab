// Integer arithmetic. Values are computed in 128 bits, where nothing overflows, and cut to their type at the end.
#include <algorithm>

#include "interpreter/families.h"
#include "interpreter/lanes.h"

namespace tutti::interpreter {
namespace {

using Number = __int128;

Number Clamp(Number value, uint32_t bits, bool is_signed) {
  const Number low = is_signed ? -(Number{1} << (bits - 1)) : 0,
               high = (Number{1} << (is_signed ? bits - 1 : bits)) - 1;
  return std::clamp(value, low, high);
}

uint64_t Cut(Number value, Type type) { return LowBits(static_cast<uint64_t>(value), ptx::BitsOf(type)); }

// The half of a product that .lo, .hi or .wide names; 64-bit products need all 128 bits, unsigned ones as unsigned.
Number HalfOfProduct(Step& step, Type type) {
  const uint32_t bits = ptx::BitsOf(type);
  const bool hi = step.Has(Modifier::kHi);
  step.Accept({Modifier::kLo});
  if (!hi) return step.Number(1, type) * step.Number(2, type);
  if (!ptx::IsSigned(type))
    return static_cast<Number>(static_cast<Bits>(step.Get(1, type)) * step.Get(2, type) >> bits);
  return step.Number(1, type) * step.Number(2, type) >> bits;
}

Type Doubled(Type type) {
  switch (type) {
    case Type::kU16: return Type::kU32;
    case Type::kS16: return Type::kS32;
    case Type::kU32: return Type::kU64;
    default: return Type::kS64;
  }
}

}  // namespace

void AddSubtract(Step& step) {
  const Type type = step.type();
  if (ptx::IsFloat(type)) return FloatAddSubtract(step);
  if (step.Has(Modifier::kCc)) return AddWithCarry(step);
  const bool subtract = step.in.opcode == ptx::Opcode::kSub, saturate = step.Has(Modifier::kSat);
  ForEachLane(step, type, [&](Type lane, std::span<const uint64_t> in) {
    const Number a = ToNumber(in[0], lane), b = ToNumber(in[1], lane);
    const Number sum = subtract ? a - b : a + b;
    return Cut(saturate ? Clamp(sum, ptx::BitsOf(lane), ptx::IsSigned(lane)) : sum, lane);
  });
}

void Multiply(Step& step) {
  const Type type = step.type();
  if (ptx::IsFloat(type)) return FloatMultiply(step);
  if (step.Has(Modifier::kWide))
    return step.Put(0, Doubled(type), Cut(step.Number(1, type) * step.Number(2, type), Doubled(type)));
  step.Put(0, type, Cut(HalfOfProduct(step, type), type));
}

void MultiplyAdd(Step& step) {
  const Type type = step.type();
  if (ptx::IsFloat(type)) return FloatMultiplyAdd(step);
  if (step.Has(Modifier::kCc)) return MultiplyAddWithCarry(step);
  if (step.Has(Modifier::kWide)) {
    const Type wide = Doubled(type);
    return step.Put(0, wide, Cut(step.Number(1, type) * step.Number(2, type) + step.Number(3, wide), wide));
  }
  const Number sum = HalfOfProduct(step, type) + step.Number(3, type);
  step.Put(0, type, Cut(step.Has(Modifier::kSat) ? Clamp(sum, ptx::BitsOf(type), true) : sum, type));
}

// The ISA leaves division by zero, and of the least number by -1, undefined.
void Divide(Step& step) {
  const Type type = step.type();
  if (ptx::IsFloat(type)) return FloatDivide(step);
  const Number a = step.Number(1, type), b = step.Number(2, type);
  const bool remainder = step.in.opcode == ptx::Opcode::kRem;
  if (b == 0) return step.Put(0, type, remainder ? Cut(a, type) : ~uint64_t{0});
  step.Put(0, type, Cut(remainder ? a % b : a / b, type));
}

void AbsoluteOrNegative(Step& step) {
  const Type type = step.type();
  if (ptx::IsFloat(type)) return FloatSign(step);
  const Number a = step.Number(1, type);
  step.Put(0, type, Cut(step.in.opcode == ptx::Opcode::kNeg || a < 0 ? -a : a, type));
}

void MinMax(Step& step) {
  const Type type = step.type();
  if (ptx::IsFloat(type)) return FloatMinMax(step);
  const bool max = step.in.opcode == ptx::Opcode::kMax, relu = step.Has(Modifier::kRelu);
  ForEachLane(step, type, [&](Type lane, std::span<const uint64_t> in) {
    const Number a = ToNumber(in[0], lane), b = ToNumber(in[1], lane);
    const Number chosen = max ? std::max(a, b) : std::min(a, b);
    return Cut(relu ? std::max<Number>(chosen, 0) : chosen, lane);
  });
}

void SumOfDifferences(Step& step) {
  const Type type = step.type();
  const Number a = step.Number(1, type), b = step.Number(2, type);
  step.Put(0, type, Cut(step.Number(3, type) + (a < b ? b - a : a - b), type));
}

// mul24, mad24: of the low 24 bits of both; .hi are bits 16 to 47 of the product.
void Multiply24(Step& step) {
  const Type type = step.type();
  const auto low24 = [&](size_t operand) {
    const uint64_t bits = LowBits(step.Get(operand, type), 24);
    return ptx::IsSigned(type) ? Number{SignExtend(bits, 24)} : static_cast<Number>(bits);
  };
  step.Accept({Modifier::kLo});
  Number result = low24(1) * low24(2);
  if (step.Has(Modifier::kHi)) result >>= 16;
  if (step.in.opcode == ptx::Opcode::kMad24) {
    const uint64_t half = Cut(result, type);
    result = ToNumber(half, type) + step.Number(3, type);
    if (step.Has(Modifier::kSat)) result = Clamp(result, 32, true);
  }
  step.Put(0, type, Cut(result, type));
}

}  // namespace tutti::interpreter
