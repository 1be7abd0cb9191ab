// cvt.rs: rounding by random bits. The ISA: the random bits are added to the source's bits that the result drops, and a
// carry rounds away from zero, no carry towards zero. Which random bits belong to which of four results is known from
// measurements on GPUs only: see RandomFor.
#include <cmath>

#include "interpreter/families.h"
#include "interpreter/float_format.h"

namespace tutti::interpreter {
namespace {

uint32_t Reverse16(uint32_t bits) {
  uint32_t reversed = 0;
  for (uint32_t i = 0; i < 16; ++i) reversed |= (bits >> i & 1) << (15 - i);
  return reversed;
}

struct Random {
  uint32_t bits, count;
};

// For source `i` of an instruction with two or four of them, in their order.
Random RandomFor(Type to, uint32_t rbits, size_t i) {
  const auto byte = [&](uint32_t n) { return rbits >> (8 * n) & 0xff; };
  if (to == Type::kF16x2) return {(i == 0 ? rbits >> 16 : rbits) & 0x1fff, 13};
  if (to == Type::kBF16x2) return {(i == 0 ? rbits >> 16 : rbits) & 0xffff, 16};
  uint32_t shared;  // by sources 0 and 1, or 2 and 3
  if (to == Type::kE2M1x4)
    shared = i < 2 ? byte(3) << 8 | byte(1) : byte(2) << 8 | byte(0);
  else
    shared = i < 2 ? rbits >> 16 : rbits & 0xffff;
  return {i % 2 == 0 ? Reverse16(shared) : shared, 16};
}

double Round(const FloatFormat& format, double value, const Random& random) {
  if (!std::isfinite(value) || value == 0) return value;
  const double magnitude = std::fabs(value);
  const int last_place = std::max(std::ilogb(magnitude), 1 - format.bias()) - static_cast<int>(format.fraction_bits);
  double whole;
  const double rest = std::modf(std::ldexp(magnitude, -last_place), &whole);
  const auto discarded = static_cast<uint64_t>(std::ldexp(rest, static_cast<int>(random.count)));
  if ((discarded + random.bits) >> random.count != 0) whole += 1;
  return std::copysign(std::ldexp(whole, last_place), value);
}

}  // namespace

void ConvertStochastically(Step& step) {
  const Type to = step.type(0);
  const bool relu = step.Has(Modifier::kRelu), finite = step.Has(Modifier::kSatfinite);
  const FloatFormat& format = *FormatOf(to);
  std::vector<Operand> sources = {step.in.operands[1], step.in.operands[2]};
  if (step.in.operands[1].kind == OperandKind::kVector) {
    const auto elements = step.Elements(step.in.operands[1]);
    sources.assign(elements.begin(), elements.end());
  }
  const auto rbits = static_cast<uint32_t>(step.Get(step.count() - 1, Type::kB32));
  const uint32_t place = ptx::BitsOf(to) / static_cast<uint32_t>(sources.size());
  uint64_t packed = 0;
  for (size_t i = 0; i < sources.size(); ++i) {
    const double value = Round(format, ToDouble(kF32, step.Get(sources[i], Type::kF32)), RandomFor(to, rbits, i));
    uint64_t result = FromDouble(format, value, Rounding::kNearestEven, finite);
    if (relu && !std::isnan(value) && (result & format.sign()) != 0) result = 0;
    packed = packed << place | result;
  }
  step.Put(0, to, packed);
}

}  // namespace tutti::interpreter
