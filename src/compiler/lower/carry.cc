// Multi-word arithmetic: add.cc sets the carry flag, addc consumes it. A subtraction is an addition of the complement:
// its flag is set where nothing was borrowed. PTX calls it a borrow, and within chains of subtractions there is no
// difference; but the vendor's division of 128-bit numbers ends such a chain with an addc.
#include "compiler/lower/families.h"
#include "compiler/lower/integer.h"

namespace tutti::compiler::lowering {
namespace {

using M = ptx::Modifier;
using O = ptx::Opcode;

// a op b op carry; sets the flag if the instruction says .cc.
llvm::Value* AddSub(Emitter& e, llvm::Value* a, llvm::Value* b, bool subtract, bool takes_carry) {
  auto& ir = e.ir;
  llvm::Value* result = subtract ? ir.CreateSub(a, b) : ir.CreateAdd(a, b);
  llvm::Value* carry = subtract ? ir.CreateICmpUGE(a, b) : ir.CreateICmpULT(result, a);
  if (takes_carry) {
    llvm::Value* flag = e.ReadCarry();
    llvm::Value* in = ir.CreateZExt(subtract ? ir.CreateNot(flag) : flag, result->getType());
    llvm::Value* first = result;
    result = subtract ? ir.CreateSub(first, in) : ir.CreateAdd(first, in);
    carry =
        subtract ? ir.CreateAnd(carry, ir.CreateICmpUGE(first, in)) : ir.CreateOr(carry, ir.CreateICmpULT(result, in));
  }
  if (e.Has(M::kCc)) e.WriteCarry(carry);
  return result;
}

}  // namespace

bool UsesCarry(const Emitter& e) {
  return e.Has(M::kCc) || e.instruction().opcode == O::kAddc || e.instruction().opcode == O::kSubc ||
         e.instruction().opcode == O::kMadc;
}

void EmitCarryAddSub(Emitter& e) {
  if (!IsInteger(e.type())) return e.Invalid("carries exist for integers only");
  const O opcode = e.instruction().opcode;
  const bool subtract = opcode == O::kSub || opcode == O::kSubc;
  e.Out(AddSub(e, e.In(1), e.In(2), subtract, opcode == O::kAddc || opcode == O::kSubc));
}

void EmitCarryMad(Emitter& e) {
  if (!IsInteger(e.type())) return e.Invalid("carries exist for integers only");
  llvm::Value* a = e.In(1);
  llvm::Value* b = e.In(2);
  llvm::Value* product = e.Has(M::kHi) ? MulHigh(e.ir, a, b, ptx::IsSigned(e.type())) : e.ir.CreateMul(a, b);
  e.Out(AddSub(e, product, e.In(3), false, e.instruction().opcode == O::kMadc));
}

}  // namespace tutti::compiler::lowering
