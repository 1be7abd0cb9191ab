#include "ptx/verify_video.h"

namespace tutti::ptx {
namespace {

bool IsSet(Opcode opcode) { return NameOf(opcode).starts_with("vset"); }

bool IsPacked(Opcode opcode) { return NameOf(opcode).ends_with('2') || NameOf(opcode).ends_with('4'); }

// The parts of a mask are named from the highest down: .b320.
bool Descends(uint32_t selector) {
  const uint32_t digits = selector >> 16 & 15;
  for (uint32_t i = 1; i < digits; ++i) {
    if ((selector >> (4 * i) & 15) >= (selector >> (4 * (i - 1)) & 15)) return false;
  }
  return true;
}

}  // namespace

bool IsVideo(Opcode opcode) { return NameOf(opcode).starts_with('v') && opcode != Opcode::kVote; }

std::string WrongVideo(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode;
  if (!IsVideo(opcode)) return {};
  const size_t types = IsSet(opcode) ? 2 : 3;
  if (instruction.types.size() != types) return types == 2 ? "2 types are needed" : "3 types are needed";
  for (const Type type : instruction.types) {
    if (type != Type::kU32 && type != Type::kS32) return "the types are .u32 and .s32";
  }
  if ((opcode == Opcode::kVshl || opcode == Opcode::kVshr) && instruction.types[2] != Type::kU32)
    return "the amount of a shift is a .u32";
  const auto& operands = instruction.operands;
  if (operands[0].kind == OperandKind::kSink) return "the result is not optional";
  if (opcode == Opcode::kVmad) {
    if (operands[0].selector != 0) return "the result is a whole register";
    if (operands[1].negated != operands[2].negated && operands[3].negated)
      return "either the product is negated or the summand";
  }
  if (operands.size() > 3 && operands[3].selector != 0) return "the third source is a whole register";
  if (IsPacked(opcode) && !Descends(operands[0].selector)) return "the parts of a mask go from the highest down";
  return {};
}

}  // namespace tutti::ptx
