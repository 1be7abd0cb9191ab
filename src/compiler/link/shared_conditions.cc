#include "compiler/link/shared_conditions.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>

namespace tutti::compiler {
namespace {

constexpr unsigned kMostBranches = 16;  // on one value
constexpr const char* kCopy = "tutti.condition";

// A copy of a condition. Its number makes it another value than the other copies.
llvm::Function& CopyFunction(llvm::Module& module) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* i1 = llvm::Type::getInt1Ty(context);
  auto* function = llvm::cast<llvm::Function>(
      module.getOrInsertFunction(kCopy, i1, i1, llvm::Type::getInt32Ty(context)).getCallee());
  function->setDoesNotAccessMemory();
  function->setDoesNotThrow();
  function->setWillReturn();
  function->addFnAttr(llvm::Attribute::Speculatable);
  return *function;
}

}  // namespace

llvm::PreservedAnalyses SplitConditionsPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  llvm::MapVector<llvm::Instruction*, llvm::SmallVector<llvm::BranchInst*, 2>> branches;
  for (llvm::BasicBlock& block : function) {
    auto* branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
    if (branch == nullptr || !branch->isConditional()) continue;
    if (auto* condition = llvm::dyn_cast<llvm::Instruction>(branch->getCondition()))
      branches[condition].push_back(branch);
  }
  bool changed = false;
  for (const auto& [condition, users] : branches) {
    if (users.size() <= kMostBranches) continue;
    const auto place = condition->getInsertionPointAfterDef();
    if (!place) continue;
    llvm::IRBuilder<> builder(condition->getContext());
    builder.SetInsertPoint(*place);
    llvm::Value* copy = nullptr;
    for (unsigned i = 0; i < users.size(); ++i) {
      if (i % kMostBranches == 0)
        copy = builder.CreateCall(&CopyFunction(*function.getParent()), {condition, builder.getInt32(i)});
      users[i]->setCondition(copy);
    }
    changed = true;
  }
  if (!changed) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

llvm::PreservedAnalyses JoinConditionsPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  const llvm::Function* copies = function.getParent()->getFunction(kCopy);
  if (copies == nullptr) return llvm::PreservedAnalyses::all();
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (call == nullptr || call->getCalledFunction() != copies) continue;
    call->replaceAllUsesWith(call->getArgOperand(0));
    call->eraseFromParent();
  }
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

}  // namespace tutti::compiler
