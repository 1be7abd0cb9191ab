// Branches and ends.
#include "compiler/lower/families.h"

namespace tutti::compiler::lowering {

void EmitBra(Emitter& e) {
  if (e.operand(0).kind != ptx::OperandKind::kLabel) return e.Invalid("bra takes a label");
  llvm::BasicBlock* target = e.BlockOf(e.operand(0).index);
  llvm::BasicBlock* next = e.NewBlock("next");
  if (llvm::Value* guard = e.Guard()) {
    e.ir.CreateCondBr(guard, target, next);
  } else {
    e.ir.CreateBr(target);
  }
  e.ir.SetInsertPoint(next);
}

// brx.idx index, list. An index beyond the list is a fault, never a jump to anywhere.
void EmitBrx(Emitter& e) {
  const uint32_t list = e.instruction().branch_targets;
  if (list >= e.function().branch_targets.size()) return e.Invalid("brx.idx needs a list of targets");
  const auto& targets = e.function().branch_targets[list];
  llvm::Value* index = e.In(0, ptx::Type::kU32);
  llvm::BasicBlock* beyond = e.NewBlock("beyond");
  llvm::SwitchInst* jump = e.ir.CreateSwitch(index, beyond, static_cast<unsigned>(targets.size()));
  for (uint32_t i = 0; i < targets.size(); ++i) jump->addCase(e.ir.getInt32(i), e.BlockOf(targets[i]));
  e.ir.SetInsertPoint(beyond);
  e.Fault(guest::FaultKind::kInvalidPc);
}

void EmitRet(Emitter& e) { e.Return(); }
void EmitExit(Emitter& e) { e.Exit(); }
// For trap, and for brkpt, as there is no debugger. Both are valid instructions, so the fault is not "illegal
// instruction" but CUDA's "an exception occurred on the device".
void EmitTrap(Emitter& e) { e.Fault(guest::FaultKind::kLaunchFailed); }

}  // namespace tutti::compiler::lowering
