#include "compiler/widen/analysis/lane_range.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

namespace tutti::compiler {
namespace {

using llvm::ConstantRange;
using llvm::Instruction;

constexpr unsigned kMostSteps = 8;

// By how the value of one step comes from the next ones. A quotient by 0 is nobody's.
ConstantRange Range(const llvm::Value* value, unsigned steps) {
  const unsigned bits = value->getType()->getIntegerBitWidth();
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value)) return {constant->getValue()};
  const auto* instruction = llvm::dyn_cast<Instruction>(value);
  if (instruction == nullptr || steps == 0) return ConstantRange::getFull(bits);
  const auto of = [&](unsigned operand) { return Range(instruction->getOperand(operand), steps - 1); };
  switch (instruction->getOpcode()) {
    case Instruction::Add:
    case Instruction::Sub:
    case Instruction::Mul:
    case Instruction::UDiv:
    case Instruction::URem:
    case Instruction::Shl:
    case Instruction::LShr:
    case Instruction::And:
    case Instruction::Xor: return of(0).binaryOp(static_cast<Instruction::BinaryOps>(instruction->getOpcode()), of(1));
    case Instruction::Or:
      // Where lanes go it is the sum, by which shapes count; where they do not, it may be either.
      return llvm::cast<llvm::PossiblyDisjointInst>(instruction)->isDisjoint()
                 ? of(0).add(of(1)).unionWith(of(0).binaryOr(of(1)))
                 : of(0).binaryOr(of(1));
    case Instruction::ZExt: return of(0).zeroExtend(bits);
    case Instruction::Trunc: return of(0).truncate(bits);
    case Instruction::Select: return of(1).unionWith(of(2));
    case Instruction::Call: break;
    default: return ConstantRange::getFull(bits);
  }
  if (const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(instruction)) {
    switch (intrinsic->getIntrinsicID()) {
      case llvm::Intrinsic::umin: return of(0).umin(of(1));
      case llvm::Intrinsic::umax: return of(0).umax(of(1));
      default: return ConstantRange::getFull(bits);
    }
  }
  // Thread and block indices have theirs with the function, whoever calls it.
  const llvm::Function* callee = llvm::cast<llvm::CallInst>(instruction)->getCalledFunction();
  if (callee == nullptr || !callee->hasRetAttribute(llvm::Attribute::Range)) return ConstantRange::getFull(bits);
  return callee->getAttributes().getRetAttrs().getAttribute(llvm::Attribute::Range).getRange();
}

}  // namespace

ConstantRange RangeInAnyLane(const llvm::Value* value) { return Range(value, kMostSteps); }

}  // namespace tutti::compiler
