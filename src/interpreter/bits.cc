// Bit fields: counting, finding, extracting, inserting, permuting.
#include <algorithm>
#include <array>
#include <bit>

#include "interpreter/families.h"
#include "interpreter/lanes.h"

namespace tutti::interpreter {

void CountBits(Step& step) {
  const Type type = step.type();
  const uint64_t a = step.Get(1, type);
  const uint32_t bits = ptx::BitsOf(type);
  const int count =
      step.in.opcode == ptx::Opcode::kPopc ? std::popcount(a) : std::countl_zero(a) - (64 - static_cast<int>(bits));
  step.Put(0, Type::kU32, static_cast<uint64_t>(count));
}

void ReverseBits(Step& step) {
  const uint32_t bits = ptx::BitsOf(step.type());
  const uint64_t a = step.Get(1, step.type());
  uint64_t result = 0;
  for (uint32_t i = 0; i < bits; ++i) result |= (a >> i & 1) << (bits - 1 - i);
  step.Put(0, step.type(), result);
}

// The highest bit that is not a copy of the sign (of unsigned numbers: that is one).
void FindBit(Step& step) {
  const Type type = step.type();
  const int highest = static_cast<int>(ptx::BitsOf(type)) - 1;
  uint64_t a = step.Get(1, type);
  if (ptx::IsSigned(type) && (a >> highest & 1) != 0) a = LowBits(~a, static_cast<uint32_t>(highest) + 1);
  uint32_t found = 0xffffffff;
  for (int i = highest; i >= 0 && found == 0xffffffff; --i) {
    if ((a >> i & 1) != 0) found = static_cast<uint32_t>(i);
  }
  if (step.Has(Modifier::kShiftamt) && found != 0xffffffff) found = static_cast<uint32_t>(highest) - found;
  step.Put(0, Type::kU32, found);
}

void ExtractField(Step& step) {
  const Type type = step.type();
  const uint32_t msb = ptx::BitsOf(type) - 1;
  const uint64_t a = step.Get(1, type);
  const auto pos = static_cast<uint32_t>(step.Get(2, Type::kU32) & 0xff),
             length = static_cast<uint32_t>(step.Get(3, Type::kU32) & 0xff);
  const uint64_t sign = !ptx::IsSigned(type) || length == 0 ? 0 : a >> std::min(pos + length - 1, msb) & 1;
  uint64_t result = 0;
  for (uint32_t i = 0; i <= msb; ++i) result |= (i < length && pos + i <= msb ? a >> (pos + i) & 1 : sign) << i;
  step.Put(0, type, result);
}

void InsertField(Step& step) {
  const Type type = step.type();
  const uint32_t msb = ptx::BitsOf(type) - 1;
  const uint64_t a = step.Get(1, type);
  uint64_t result = step.Get(2, type);
  const auto pos = static_cast<uint32_t>(step.Get(3, Type::kU32) & 0xff),
             length = static_cast<uint32_t>(step.Get(4, Type::kU32) & 0xff);
  for (uint32_t i = 0; i < length && pos + i <= msb; ++i)
    result = (result & ~(uint64_t{1} << (pos + i))) | (a >> i & 1) << (pos + i);
  step.Put(0, type, result);
}

void MakeMask(Step& step) {
  const bool clamp = step.Has(Modifier::kClamp);
  step.Accept({Modifier::kWrap});
  const auto a = static_cast<uint32_t>(step.Get(1, Type::kU32)), b = static_cast<uint32_t>(step.Get(2, Type::kU32));
  const uint32_t start = clamp ? std::min(a, 32u) : a & 31, length = clamp ? std::min(b, 32u) : b & 31;
  uint32_t mask = 0;
  for (uint32_t i = start; i < std::min(start + length, 32u); ++i) mask |= 1u << i;
  step.Put(0, Type::kB32, mask);
}

void ExtendSign(Step& step) {
  const bool clamp = step.Has(Modifier::kClamp);
  step.Accept({Modifier::kWrap});
  const Type type = step.type();
  const auto a = static_cast<uint32_t>(step.Get(1, type)), b = static_cast<uint32_t>(step.Get(2, Type::kU32));
  const uint32_t width = clamp ? std::min(b, 32u) : b & 31;
  if (width == 0) return step.Put(0, type, 0);
  step.Put(0, type,
           ptx::IsSigned(type) ? static_cast<uint64_t>(SignExtend(LowBits(a, width), width)) : LowBits(a, width));
}

// fns: the n-th set bit from a base, upwards or downwards.
void FindNthSet(Step& step) {
  const auto mask = static_cast<uint32_t>(step.Get(1, Type::kB32));
  const auto base = static_cast<int>(step.Get(2, Type::kU32) & 31);
  const auto offset = static_cast<int>(step.Signed(3, Type::kS32));
  uint32_t found = 0xffffffff;
  const int direction = offset < 0 ? -1 : 1;
  int64_t left = offset == 0 ? 0 : (offset < 0 ? -static_cast<int64_t>(offset) : offset) - 1;
  for (int pos = base; pos >= 0 && pos < 32; pos += direction) {
    if ((mask >> pos & 1) != 0 && left-- == 0) {
      found = static_cast<uint32_t>(pos);
      break;
    }
    if (offset == 0) break;
  }
  step.Put(0, Type::kB32, found);
}

void Permute(Step& step) {
  const uint64_t bytes = step.Get(1, Type::kB32) | step.Get(2, Type::kB32) << 32;
  const auto control = static_cast<uint32_t>(step.Get(3, Type::kB32));
  struct Mode {
    Modifier modifier;
    uint16_t selectors[4];  // by the two low bits of the control: one nibble a byte, the lowest byte's lowest
  };
  static constexpr Mode kModes[] = {
      {Modifier::kF4e, {0x3210, 0x4321, 0x5432, 0x6543}}, {Modifier::kB4e, {0x5670, 0x6701, 0x7012, 0x0123}},
      {Modifier::kRc8, {0x0000, 0x1111, 0x2222, 0x3333}}, {Modifier::kEcl, {0x3210, 0x3211, 0x3222, 0x3333}},
      {Modifier::kEcr, {0x0000, 0x1110, 0x2210, 0x3210}}, {Modifier::kRc16, {0x1010, 0x3232, 0x1010, 0x3232}},
  };
  uint32_t selectors = control & 0xffff;
  for (const Mode& mode : kModes) {
    if (step.Has(mode.modifier)) selectors = mode.selectors[control & 3];
  }
  uint32_t result = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    const uint32_t selector = selectors >> (4 * i) & 15;
    auto byte = static_cast<uint32_t>(bytes >> (8 * (selector & 7)) & 0xff);
    if ((selector & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
    result |= byte << (8 * i);
  }
  step.Put(0, Type::kB32, result);
}

void DotProduct(Step& step) {
  const Type a_type = step.type(0), b_type = step.type(1);
  const uint64_t a = step.Get(1, Type::kB32), b = step.Get(2, Type::kB32);
  const auto element = [](uint64_t word, Type type, uint32_t bits, uint32_t index) {
    const uint64_t part = LowBits(word >> (bits * index), bits);
    return ptx::IsSigned(type) ? SignExtend(part, bits) : static_cast<int64_t>(part);
  };
  int64_t sum = step.Signed(3, Type::kS32);
  if (step.in.opcode == ptx::Opcode::kDp4a) {
    for (uint32_t i = 0; i < 4; ++i) sum += element(a, a_type, 8, i) * element(b, b_type, 8, i);
  } else {
    step.Accept({Modifier::kLo});
    const uint32_t first = step.Has(Modifier::kHi) ? 2 : 0;
    for (uint32_t i = 0; i < 2; ++i) sum += element(a, a_type, 16, i) * element(b, b_type, 8, first + i);
  }
  step.Put(0, Type::kU32, static_cast<uint64_t>(sum));
}

}  // namespace tutti::interpreter
