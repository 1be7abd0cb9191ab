#include "compiler/link/constants_last.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/PatternMatch.h>

namespace tutti::compiler {
namespace {

using llvm::PatternMatch::m_Add;
using llvm::PatternMatch::m_ConstantInt;
using llvm::PatternMatch::m_DisjointOr;
using llvm::PatternMatch::m_Value;

// Takes the constants off `value`, and adds them to `sum`.
llvm::Value* WithoutConstants(llvm::Value* value, uint64_t& sum) {
  llvm::Value* rest = nullptr;
  llvm::ConstantInt* constant = nullptr;
  while (match(value, m_Add(m_Value(rest), m_ConstantInt(constant))) ||
         match(value, m_DisjointOr(m_Value(rest), m_ConstantInt(constant)))) {
    sum += constant->getZExtValue();
    value = rest;
  }
  return value;
}

}  // namespace

llvm::PreservedAnalyses ConstantsLastPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  bool changed = false;
  for (llvm::Instruction& sum : llvm::make_early_inc_range(llvm::instructions(function))) {
    if (sum.getOpcode() != llvm::Instruction::Add || !sum.getType()->isIntegerTy(64)) continue;
    if (llvm::isa<llvm::Constant>(sum.getOperand(0)) || llvm::isa<llvm::Constant>(sum.getOperand(1))) continue;
    uint64_t constant = 0;
    llvm::Value* one = WithoutConstants(sum.getOperand(0), constant);
    llvm::Value* other = WithoutConstants(sum.getOperand(1), constant);
    if (one == sum.getOperand(0) && other == sum.getOperand(1)) continue;
    llvm::IRBuilder<> builder(&sum);
    llvm::Value* inner = builder.CreateAdd(one, other);
    sum.replaceAllUsesWith(builder.CreateAdd(inner, builder.getInt64(constant), sum.getName()));
    sum.eraseFromParent();
    changed = true;
  }
  if (!changed) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

}  // namespace tutti::compiler
