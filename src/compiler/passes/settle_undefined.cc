#include "compiler/passes/settle_undefined.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

namespace tutti::compiler {

llvm::PreservedAnalyses SettleUndefinedPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  bool changed = false;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    // Vectors are built from poison, element by element.
    const bool builds = llvm::isa<llvm::InsertElementInst, llvm::InsertValueInst, llvm::ShuffleVectorInst>(instruction);
    for (llvm::Use& operand : instruction.operands()) {
      if (!llvm::isa<llvm::UndefValue>(operand.get())) continue;  // poison is one, too
      if (builds && operand->getType()->isAggregateType()) continue;
      if (builds && operand->getType()->isVectorTy()) continue;
      operand.set(llvm::Constant::getNullValue(operand->getType()));
      changed = true;
    }
  }
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace tutti::compiler
