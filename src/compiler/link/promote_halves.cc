#include "compiler/link/promote_halves.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

namespace tutti::compiler {
namespace {

bool IsHalfVector(const llvm::Type* type) { return type->isVectorTy() && type->getScalarType()->isHalfTy(); }

// Functions whose result in float, of a half, rounds to the right half.
bool IsRounding(llvm::Intrinsic::ID id) {
  switch (id) {
    case llvm::Intrinsic::ceil:
    case llvm::Intrinsic::floor:
    case llvm::Intrinsic::nearbyint:
    case llvm::Intrinsic::rint:
    case llvm::Intrinsic::round:
    case llvm::Intrinsic::roundeven:
    case llvm::Intrinsic::sqrt:
    case llvm::Intrinsic::trunc: return true;
    default: return false;
  }
}

// What computes the same by wider numbers, or null where the instruction may stay.
llvm::Value* Promoted(llvm::IRBuilder<>& builder, llvm::Instruction& instruction) {
  const auto widened = [&](unsigned operand) {
    llvm::Value* value = instruction.getOperand(operand);
    return builder.CreateFPExt(value, value->getType()->getWithNewType(builder.getFloatTy()));
  };
  if (auto* compare = llvm::dyn_cast<llvm::FCmpInst>(&instruction)) {
    if (!IsHalfVector(compare->getOperand(0)->getType())) return nullptr;
    return builder.CreateFCmp(compare->getPredicate(), widened(0), widened(1));
  }
  if (llvm::isa<llvm::FPToSIInst, llvm::FPToUIInst>(instruction)) {
    if (!IsHalfVector(instruction.getOperand(0)->getType())) return nullptr;
    return builder.CreateCast(llvm::cast<llvm::CastInst>(instruction).getOpcode(), widened(0), instruction.getType());
  }
  if (!IsHalfVector(instruction.getType())) return nullptr;
  if (auto* select = llvm::dyn_cast<llvm::SelectInst>(&instruction)) {
    llvm::Type* bits = select->getType()->getWithNewType(builder.getInt16Ty());
    llvm::Value* chosen =
        builder.CreateSelect(select->getCondition(), builder.CreateBitCast(select->getTrueValue(), bits),
                             builder.CreateBitCast(select->getFalseValue(), bits));
    return builder.CreateBitCast(chosen, select->getType());
  }
  if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) {
    if (!IsRounding(call->getIntrinsicID())) return nullptr;
    return builder.CreateFPTrunc(builder.CreateUnaryIntrinsic(call->getIntrinsicID(), widened(0)), call->getType());
  }
  return nullptr;
}

}  // namespace

llvm::PreservedAnalyses PromoteHalvesPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  bool changed = false;
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    llvm::IRBuilder<> builder(&instruction);
    llvm::Value* promoted = Promoted(builder, instruction);
    if (promoted == nullptr) continue;
    instruction.replaceAllUsesWith(promoted);
    instruction.eraseFromParent();
    changed = true;
  }
  if (!changed) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

}  // namespace tutti::compiler
