#include "ptx/verify_words.h"

#include <fmt/format.h>

namespace tutti::ptx {
namespace {

// Without a row in operand_shape.def, but known all the same.
bool IsControl(Opcode opcode) {
  switch (opcode) {
    case Opcode::kBar:
    case Opcode::kBarrier:
    case Opcode::kBra:
    case Opcode::kBrkpt:
    case Opcode::kBrx:
    case Opcode::kCall:
    case Opcode::kExit:
    case Opcode::kMembar:
    case Opcode::kRet:
    case Opcode::kTrap: return true;
    default: return false;
  }
}

uint32_t MostSpaces(Opcode opcode, std::string_view pattern) {
  const bool names_one = opcode == Opcode::kCvta || opcode == Opcode::kIsspacep;
  return names_one || pattern.contains('a') ? 1 : 0;
}

bool MayBeVector(Opcode opcode, std::string_view pattern) { return opcode == Opcode::kMov || pattern.contains('a'); }

uint32_t MostTypes(const Instruction& instruction, std::string_view pattern) {
  switch (instruction.opcode) {
    case Opcode::kAdd:
    case Opcode::kSub:
    case Opcode::kFma: return instruction.type() == Type::kF32 ? 2 : 1;  // add.f32.f16
    case Opcode::kCvt: return 3;
    case Opcode::kMma: return 5;
    case Opcode::kDp2a:
    case Opcode::kDp4a:
    case Opcode::kLdmatrix:
    case Opcode::kStmatrix:
    case Opcode::kTex:
    case Opcode::kTld4: return 2;
    case Opcode::kVset:
    case Opcode::kVset2:
    case Opcode::kVset4: return 2;
    case Opcode::kElect:
    case Opcode::kIsspacep:
    case Opcode::kBra:
    case Opcode::kBrkpt:
    case Opcode::kBrx:
    case Opcode::kCall:
    case Opcode::kExit:
    case Opcode::kMembar:
    case Opcode::kRet:
    case Opcode::kTrap: return 0;
    default: break;
  }
  if (NameOf(instruction.opcode).starts_with('v') && instruction.opcode != Opcode::kVote) return 3;
  return pattern.contains('e') ? 2 : 1;
}

}  // namespace

std::string WrongWords(const Instruction& instruction, std::string_view pattern) {
  if (pattern.empty() && !IsControl(instruction.opcode)) return {};
  const uint32_t spaces = MostSpaces(instruction.opcode, pattern);
  const StateSpace extra = spaces == 0 ? instruction.space : instruction.second_space;
  if (extra != StateSpace::kGeneric) return fmt::format("no state space .{} belongs here", NameOf(extra));
  if (instruction.vector != 1 && !MayBeVector(instruction.opcode, pattern))
    return fmt::format("this instruction has no vectors: .v{}", instruction.vector);
  const uint32_t types = MostTypes(instruction, pattern);
  if (instruction.types.size() > types) return fmt::format("a type too many: .{}", NameOf(instruction.types[types]));
  return {};
}

}  // namespace tutti::ptx
