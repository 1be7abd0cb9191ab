// SIMD video instructions: two halves or four bytes, each chosen from the eight bytes of two words.
#include <algorithm>
#include <array>

#include "interpreter/families.h"
#include "interpreter/video_compare.h"

namespace tutti::interpreter {
namespace {

using ptx::Opcode;

bool IsQuad(Opcode opcode) {
  switch (opcode) {
    case Opcode::kVadd4:
    case Opcode::kVsub4:
    case Opcode::kVavrg4:
    case Opcode::kVabsdiff4:
    case Opcode::kVmin4:
    case Opcode::kVmax4:
    case Opcode::kVset4: return true;
    default: return false;
  }
}

int64_t One(Step& step, int64_t a, int64_t b) {
  switch (step.in.opcode) {
    case Opcode::kVadd2:
    case Opcode::kVadd4: return a + b;
    case Opcode::kVsub2:
    case Opcode::kVsub4: return a - b;
    case Opcode::kVavrg2:
    case Opcode::kVavrg4: return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1;
    case Opcode::kVabsdiff2:
    case Opcode::kVabsdiff4: return a < b ? b - a : a - b;
    case Opcode::kVmin2:
    case Opcode::kVmin4: return std::min(a, b);
    case Opcode::kVmax2:
    case Opcode::kVmax4: return std::max(a, b);
    default: return VideoCompare(step, a, b) ? 1 : 0;
  }
}

}  // namespace

void VideoPacked(Step& step) {
  const bool quad = IsQuad(step.in.opcode), sets = step.in.opcode == Opcode::kVset2 || step.in.opcode == Opcode::kVset4;
  const uint32_t count = quad ? 4 : 2, bits = 32 / count;
  const Type to = sets ? Type::kU32 : step.type(0), a_type = step.type(sets ? 0 : 1), b_type = step.type(sets ? 1 : 2);
  const uint64_t words = step.Get(1, Type::kB32) | step.Get(2, Type::kB32) << 32, c = step.Get(3, Type::kB32);
  // Selectors are written with the highest element's first.
  const auto chosen = [&](const Operand& operand, uint32_t first, uint32_t element, Type type) {
    const uint32_t digits = operand.selector >> 16 & 15;
    const uint32_t index = digits == 0 ? first + element : operand.selector >> (4 * (digits - 1 - element)) & 15;
    const uint64_t part = LowBits(words >> (bits * index), bits);
    return ptx::IsSigned(type) ? SignExtend(part, bits) : static_cast<int64_t>(part);
  };
  uint32_t mask = step.in.operands[0].selector == 0 ? (1u << count) - 1 : 0;
  for (uint32_t i = 0; i < (step.in.operands[0].selector >> 16 & 15); ++i)
    mask |= 1u << (step.in.operands[0].selector >> (4 * i) & 15);
  const bool saturate = step.Has(Modifier::kSat), add = step.Has(Modifier::kAdd);
  uint64_t merged = 0;
  int64_t sum = static_cast<int64_t>(c);
  for (uint32_t i = 0; i < count; ++i) {
    int64_t value = One(step, chosen(step.in.operands[1], 0, i, a_type), chosen(step.in.operands[2], count, i, b_type));
    if (saturate) {
      const bool is_signed = ptx::IsSigned(to);
      const int64_t low = is_signed ? -(int64_t{1} << (bits - 1)) : 0,
                    high = (int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
      value = std::clamp(value, low, high);
    }
    const bool here = (mask >> i & 1) != 0;
    if (here) sum += value;
    merged |= LowBits(here ? static_cast<uint64_t>(value) : c >> (bits * i), bits) << (bits * i);
  }
  step.Put(step.in.operands[0], Type::kU32, add ? static_cast<uint64_t>(sum) : merged);
}

}  // namespace tutti::interpreter
