#include "compiler/widen/divergence/spinning_calls.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <vector>

#include "compiler/passes/pass_managers.h"
#include "compiler/widen/analysis/intrinsics.h"
#include "compiler/widen/control/calls.h"
#include "compiler/widen/divergence/call_merger.h"
#include "compiler/widen/divergence/spin_loops.h"
#include "module/module_index.h"

namespace tutti::compiler {
namespace {

using Functions = llvm::SetVector<llvm::Function*>;

class SpinningCalls {
 public:
  explicit SpinningCalls(llvm::Function& kernel) : kernel_(kernel), module_(*kernel.getParent()) {
    const llvm::NamedMDNode* table = module_.getNamedMetadata("tutti.functions");
    for (unsigned i = 0; table != nullptr && i < table->getNumOperands(); ++i) {
      const llvm::MDNode* row = table->getOperand(i);
      if (row->getNumOperands() < 2) continue;
      const auto* index = llvm::mdconst::dyn_extract_or_null<llvm::ConstantInt>(row->getOperand(0));
      auto* function = llvm::mdconst::dyn_extract_or_null<llvm::Function>(row->getOperand(1));
      if (index == nullptr || function == nullptr || function->isDeclaration()) continue;
      by_address_.emplace_back(static_cast<uint32_t>(index->getZExtValue()), function);
    }
  }

  // The functions reachable from the kernel that spin, or that may call one that does.
  Functions Find() const {
    Functions reached;
    AddCallees(kernel_, reached);
    for (size_t i = 0; i < reached.size(); ++i) AddCallees(*reached[i], reached);
    Functions spinning;
    for (llvm::Function* function : reached) {
      if (MaySpin(*function)) spinning.insert(function);
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (llvm::Function* function : reached) {
        Functions callees;
        AddCallees(*function, callees);
        const auto spins = [&](llvm::Function* callee) { return spinning.contains(callee); };
        changed |= llvm::any_of(callees, spins) && spinning.insert(function);
      }
    }
    return spinning;
  }

  // Where a called address may be that of one of `spinning`, compares it and calls by name.
  void CallByName(llvm::Function& caller, const Functions& spinning) const {
    std::vector<llvm::CallInst*> calls;
    for (llvm::Instruction& instruction : llvm::instructions(caller)) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (call != nullptr && ClassifyCall(*call).kind == Intrinsic::kIndirectCall) calls.push_back(call);
    }
    for (llvm::CallInst* call : calls) {
      std::vector<std::pair<uint32_t, llvm::Function*>> targets;
      for (const auto& target : by_address_) {
        if (spinning.contains(target.second) && MayCall(*call, *target.second)) targets.push_back(target);
      }
      if (!targets.empty()) Choose(*call, targets);
    }
  }

  // No address can mean them any more.
  void ForgetAddresses(const Functions& functions) const {
    llvm::NamedMDNode* table = module_.getNamedMetadata("tutti.functions");
    if (table == nullptr) return;
    std::vector<llvm::MDNode*> kept;
    for (llvm::MDNode* row : table->operands()) {
      auto* function =
          row->getNumOperands() < 2 ? nullptr : llvm::mdconst::dyn_extract_or_null<llvm::Function>(row->getOperand(1));
      if (function == nullptr || !functions.contains(function)) kept.push_back(row);
    }
    table->clearOperands();
    for (llvm::MDNode* row : kept) table->addOperand(row);
  }

 private:
  void AddCallees(llvm::Function& caller, Functions& callees) const {
    for (llvm::Instruction& instruction : llvm::instructions(caller)) {
      const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (call == nullptr) continue;
      llvm::Function* callee = call->getCalledFunction();
      if (callee != nullptr && !callee->isDeclaration()) callees.insert(callee);
      if (ClassifyCall(*call).kind != Intrinsic::kIndirectCall) continue;
      for (const auto& [index, target] : by_address_) {
        if (MayCall(*call, *target)) callees.insert(target);
      }
    }
  }

  static void Choose(llvm::CallInst& call, llvm::ArrayRef<std::pair<uint32_t, llvm::Function*>> targets) {
    llvm::BasicBlock* before = call.getParent();
    llvm::BasicBlock* other = llvm::SplitBlock(before, &call);
    llvm::BasicBlock* after = llvm::SplitBlock(other, std::next(call.getIterator()));
    before->getTerminator()->eraseFromParent();
    llvm::IRBuilder<> builder(before);
    llvm::SwitchInst* choice =
        builder.CreateSwitch(call.getArgOperand(0), other, static_cast<unsigned>(targets.size()));
    llvm::PHINode* result = nullptr;
    if (!call.getType()->isVoidTy()) {
      builder.SetInsertPoint(after, after->begin());
      result = builder.CreatePHI(call.getType(), static_cast<unsigned>(targets.size()) + 1);
      call.replaceAllUsesWith(result);
      result->addIncoming(&call, other);
    }
    for (const auto& [index, target] : targets) {
      auto* here = llvm::BasicBlock::Create(call.getContext(), "named", before->getParent(), other);
      choice->addCase(builder.getInt64(module::FunctionAddress(index)), here);
      builder.SetInsertPoint(here);
      llvm::CallInst* named =
          builder.CreateCall(target, llvm::SmallVector<llvm::Value*, 8>(llvm::drop_begin(call.args())));
      named->setMetadata("tutti.loc", call.getMetadata("tutti.loc"));
      builder.CreateBr(after);
      if (result != nullptr) result->addIncoming(named, here);
    }
  }

  llvm::Function& kernel_;
  llvm::Module& module_;
  std::vector<std::pair<uint32_t, llvm::Function*>> by_address_;  // with their numbers
};

// Without optimisation registers are still allocas: in a frame they would stay in memory, and a loop that waits would
// not be recognised by what it waits for.
void MakeValues(const Functions& functions) {
  PassManagers managers(llvm::Triple(functions.front()->getParent()->getTargetTriple()));
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
  for (llvm::Function* function : functions) passes.run(*function, managers.functions);
}

}  // namespace

void MergeWhatSpins(llvm::Function& kernel) {
  const SpinningCalls calls(kernel);
  const Functions spinning = calls.Find();
  if (spinning.empty()) return;
  MakeValues(spinning);
  calls.CallByName(kernel, spinning);
  for (llvm::Function* function : spinning) calls.CallByName(*function, spinning);
  calls.ForgetAddresses(spinning);
  MergeCalls(kernel, spinning.getArrayRef());
}

}  // namespace tutti::compiler
