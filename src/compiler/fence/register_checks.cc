#include "compiler/fence/register_checks.h"

#include <algorithm>

namespace tutti::compiler::fencing {
namespace {

using M = ptx::Modifier;
using O = ptx::Opcode;
using T = ptx::Type;
using ptx::Instruction;
using ptx::Operand;
using ptx::OperandKind;
using ptx::RegisterId;

bool Has(const Instruction& instruction, M modifier) {
  return std::ranges::find(instruction.modifiers, modifier) != instruction.modifiers.end();
}

// In its last operand.
bool NamesLanes(const Instruction& instruction) {
  if (!Has(instruction, M::kSync) || instruction.operands.empty()) return false;
  switch (instruction.opcode) {
    case O::kShfl:
    case O::kVote:
    case O::kMatch:
    case O::kRedux:
    case O::kElect: return true;
    case O::kBar:
    case O::kBarrier: return Has(instruction, M::kWarp);
    default: return false;
  }
}

// Its last operand goes with it.
void DropCacheHint(Instruction& instruction) {
  decltype(instruction.modifiers) others;
  for (const M modifier : instruction.modifiers) {
    if (modifier != M::kL2CacheHint) others.push_back(modifier);
  }
  instruction.modifiers = others;
  instruction.operands.pop_back();
}

}  // namespace

void RegisterChecks::EmitFault(guest::FaultKind kind, Operand address) {
  EmitCall(symbols_.fault, {address, Number(static_cast<uint32_t>(kind)), Number(number_), Number(position_.line)});
}

void RegisterChecks::FaultIf(RegisterId condition, guest::FaultKind kind, Operand address) {
  const ptx::LabelId good = NewLabel();
  Emit(O::kBra, {}, {}, {Label(good)}).guard = ptx::Guard{condition, true};
  EmitFault(kind, address);
  Place(good);
}

void RegisterChecks::CheckBarrier(const Instruction& instruction) {
  if (Has(instruction, M::kWarp) || Has(instruction, M::kCluster)) return;
  const bool reduces = Has(instruction, M::kRed);
  const size_t first = reduces ? 1 : 0, last = instruction.operands.size() - (reduces ? 1 : 0);
  constexpr uint32_t kBarriers = 16, kWarpThreads = 32, kMostThreads = 1024;
  for (size_t i = first; i < last; ++i) {
    const Operand& operand = instruction.operands[i];
    if (operand.kind != OperandKind::kRegister) continue;
    Guarded(instruction, [&] {
      const RegisterId outside = Temporary("outside", T::kPred), word = Temporary("word", T::kU32);
      if (i == first) {
        Emit(O::kSetp, {M::kGe}, {T::kU32}, {Register(outside), operand, Number(kBarriers)});
      } else {
        Emit(O::kSub, {}, {T::kU32}, {Register(word), operand, Number(1)});
        Emit(O::kSetp, {M::kGe}, {T::kU32}, {Register(outside), Register(word), Number(kMostThreads)});
        Emit(O::kAnd, {}, {T::kB32}, {Register(word), operand, Number(kWarpThreads - 1)});
        Emit(O::kSetp, {M::kNe, M::kOr}, {T::kU32}, {Register(outside), Register(word), Number(0), Register(outside)});
      }
      FaultIf(outside, guest::FaultKind::kIllegalInstruction, Number(0));
    });
  }
}

Instruction RegisterChecks::Harmless(Instruction instruction) {
  if (Has(instruction, M::kL2CacheHint)) DropCacheHint(instruction);
  if (NamesLanes(instruction)) AddOwnLane(instruction.operands.back());
  if (instruction.opcode == O::kCp && !Has(instruction, M::kBulk)) LimitSource(instruction);
  return instruction;
}

void RegisterChecks::AddOwnLane(Operand& members) {
  constexpr uint64_t kAll = 0xffffffff;
  if (members.kind == OperandKind::kImmediate && (members.bits & kAll) == kAll) return;
  const RegisterId lanes = Temporary("lanes", T::kB32);
  Emit(O::kMov, {}, {T::kB32},
       {Register(lanes),
        {.kind = OperandKind::kSpecial, .index = static_cast<uint32_t>(ptx::SpecialRegister::kLanemaskEq)}});
  Emit(O::kOr, {}, {T::kB32}, {Register(lanes), Register(lanes), members});
  members = Register(lanes);
}

// cp.async [to], [from], bytes, bytes of the source
void RegisterChecks::LimitSource(Instruction& copy) {
  constexpr size_t kBytes = 2, kSourceBytes = 3;
  if (copy.operands.size() <= kSourceBytes) return;
  Operand& source_bytes = copy.operands[kSourceBytes];
  const bool is_count =
      source_bytes.kind == OperandKind::kRegister && function_.registers[source_bytes.index].type != T::kPred;
  if (!is_count) return;
  const RegisterId word = Temporary("word", T::kU32);
  Emit(O::kMin, {}, {T::kU32}, {Register(word), source_bytes, copy.operands[kBytes]});
  source_bytes = Register(word);
}

}  // namespace tutti::compiler::fencing
