// Scalar video instructions: parts of words, an operation in 34 bits and more, a second operation or a merge.
#include <algorithm>

#include "interpreter/families.h"
#include "interpreter/video_compare.h"

namespace tutti::interpreter {
namespace {

struct Part {
  uint32_t bits = 32, shift = 0;
};

// ".b2", ".h1"; nothing: the whole word.
Part PartOf(const Operand& operand) {
  if (operand.selector == 0) return {};
  const uint32_t digit = operand.selector & 15;
  if ((operand.selector >> 20 & 1) != 0) return {16, 16 * digit};
  return {8, 8 * digit};
}

int64_t Source(Step& step, size_t operand, Type type) {
  const Part part = PartOf(step.in.operands[operand]);
  const uint64_t bits = LowBits(step.Get(operand, Type::kB32) >> part.shift, part.bits);
  return ptx::IsSigned(type) ? SignExtend(bits, part.bits) : static_cast<int64_t>(bits);
}

int64_t Saturated(int64_t value, bool is_signed, uint32_t bits) {
  const int64_t low = is_signed ? -(int64_t{1} << (bits - 1)) : 0,
                high = (int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
  return std::clamp(value, low, high);
}

}  // namespace

void Video(Step& step) {
  const bool sets = step.in.opcode == ptx::Opcode::kVset;
  const Type to = sets ? Type::kU32 : step.type(0), a_type = step.type(sets ? 0 : 1), b_type = step.type(sets ? 1 : 2);
  const bool shifts = step.in.opcode == ptx::Opcode::kVshl || step.in.opcode == ptx::Opcode::kVshr;
  const int64_t a = Source(step, 1, a_type), b = Source(step, 2, shifts ? Type::kU32 : b_type);
  const int64_t amount = step.Has(Modifier::kClamp) ? std::min<int64_t>(b, 32) : b & 31;
  step.Accept({Modifier::kWrap});
  int64_t value = 0;
  switch (step.in.opcode) {
    case ptx::Opcode::kVadd: value = a + b; break;
    case ptx::Opcode::kVsub: value = a - b; break;
    case ptx::Opcode::kVabsdiff: value = a < b ? b - a : a - b; break;
    case ptx::Opcode::kVmin: value = std::min(a, b); break;
    case ptx::Opcode::kVmax: value = std::max(a, b); break;
    case ptx::Opcode::kVset: value = VideoCompare(step, a, b) ? 1 : 0; break;
    case ptx::Opcode::kVshl: value = static_cast<int64_t>(static_cast<uint64_t>(a) << amount); break;
    default: value = a >> amount; break;  // vshr
  }
  const Part part = PartOf(step.in.operands[0]);
  if (step.Has(Modifier::kSat)) value = Saturated(value, ptx::IsSigned(to), part.bits);
  const bool add = step.Has(Modifier::kAdd), min = step.Has(Modifier::kMin), max = step.Has(Modifier::kMax);
  if (add || min || max) {
    const uint64_t bits = step.Get(3, Type::kB32);
    const int64_t c = ptx::IsSigned(to) ? SignExtend(bits, 32) : static_cast<int64_t>(bits);
    value = add ? value + c : min ? std::min(value, c) : std::max(value, c);
  }
  auto result = static_cast<uint64_t>(value);
  if (part.bits != 32) {
    const uint64_t mask = ((uint64_t{1} << part.bits) - 1) << part.shift;
    result = (result << part.shift & mask) | (step.Get(3, Type::kB32) & ~mask);
  }
  step.Put(step.in.operands[0], Type::kU32, result);
}

// vmad: the product and c in 128 bits; a negated product is its complement plus one. c has the sign of the intermediate
// result (a u32 is subtracted from a product of u32s), while the final result is signed if anything is negated.
void VideoMultiplyAdd(Step& step) {
  const Type a_type = step.type(1), b_type = step.type(2);
  const bool negate_product = step.in.operands[1].negated != step.in.operands[2].negated,
             negate_c = step.in.operands[3].negated;
  const bool c_signed = ptx::IsSigned(a_type) || ptx::IsSigned(b_type) || negate_product,
             is_signed = c_signed || negate_c;
  __int128 value = static_cast<__int128>(Source(step, 1, a_type)) * Source(step, 2, b_type);
  if (negate_product) value = -value;
  const uint64_t bits = step.Get(3, Type::kB32);
  const __int128 c = c_signed ? static_cast<__int128>(SignExtend(bits, 32)) : static_cast<__int128>(bits);
  value += negate_c ? -c : c;
  if (step.Has(Modifier::kPo)) value += 1;
  if (step.Has(Modifier::kShr7)) value >>= 7;
  if (step.Has(Modifier::kShr15)) value >>= 15;
  if (step.Has(Modifier::kSat)) {
    const __int128 low = is_signed ? -(__int128{1} << 31) : 0, high = (__int128{1} << (is_signed ? 31 : 32)) - 1;
    value = std::clamp(value, low, high);
  }
  step.Put(0, Type::kU32, static_cast<uint64_t>(value));
}

}  // namespace tutti::interpreter
