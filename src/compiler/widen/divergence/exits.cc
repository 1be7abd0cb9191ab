#include "compiler/widen/divergence/exits.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Local.h>

#include <vector>

#include "compiler/contract/intrinsics.h"
#include "compiler/widen/analysis/intrinsics.h"
#include "compiler/widen/control/calls.h"

namespace tutti::compiler {
namespace {

using llvm::BasicBlock;
using llvm::CallInst;

std::vector<CallInst*> CallsIn(llvm::Function& function, llvm::function_ref<bool(const CallInst&)> wanted) {
  std::vector<CallInst*> calls;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* call = llvm::dyn_cast<CallInst>(&instruction);
    if (call != nullptr && wanted(*call)) calls.push_back(call);
  }
  return calls;
}

bool IsExit(const CallInst& call) { return ClassifyCall(call).kind == Intrinsic::kExit; }

class ExitRewriter {
 public:
  explicit ExitRewriter(llvm::Module& module) : module_(module) {
    const llvm::NamedMDNode* table = module.getNamedMetadata("tutti.functions");
    for (unsigned i = 0; table != nullptr && i < table->getNumOperands(); ++i) {
      const llvm::MDNode* row = table->getOperand(i);
      if (row->getNumOperands() < 2) continue;
      if (auto* function = llvm::mdconst::dyn_extract_or_null<llvm::Function>(row->getOperand(1))) {
        by_address_.push_back(function);
      }
    }
  }

  void Run() {
    FindEnding();
    for (llvm::Function& function : module_) {
      if (!function.isDeclaration()) Rewrite(function);
    }
  }

 private:
  static bool IsKernel(const llvm::Function& function) { return function.getName() == "tutti.kernel"; }

  // Finds the functions in which lanes may exit, besides the kernel.
  void FindEnding() {
    for (bool changed = true; changed;) {
      changed = false;
      for (llvm::Function& function : module_) {
        if (function.isDeclaration() || IsKernel(function) || ending_.contains(&function)) continue;
        const auto ends = [this](const CallInst& call) { return IsExit(call) || MayEndLanes(call); };
        if (!CallsIn(function, ends).empty()) changed |= ending_.insert(&function);
      }
    }
  }

  bool MayEndLanes(const CallInst& call) const {
    if (ClassifyCall(call).kind != Intrinsic::kIndirectCall) return ending_.contains(call.getCalledFunction());
    return llvm::any_of(by_address_,
                        [&](llvm::Function* target) { return ending_.contains(target) && MayCall(call, *target); });
  }

  void Rewrite(llvm::Function& function) {
    const auto exits = CallsIn(function, IsExit);
    const auto calls = CallsIn(function, [this](const CallInst& call) { return MayEndLanes(call); });
    if (exits.empty() && calls.empty()) return;
    llvm::IRBuilder<> builder(function.getContext());
    auto* leave = BasicBlock::Create(function.getContext(), "exit", &function);
    builder.SetInsertPoint(leave);
    llvm::Type* type = function.getReturnType();
    if (type->isVoidTy()) {
      builder.CreateRetVoid();
    } else {
      builder.CreateRet(llvm::Constant::getNullValue(type));
    }
    const auto declare = [&](IntrinsicName name, llvm::Type* result) {
      return module_.getOrInsertFunction(name.get(), llvm::FunctionType::get(result, false));
    };
    for (CallInst* call : calls) {
      BasicBlock* before = call->getParent();
      BasicBlock* rest = llvm::SplitBlock(before, call->getNextNode());
      before->getTerminator()->eraseFromParent();
      builder.SetInsertPoint(before);
      builder.CreateCondBr(builder.CreateCall(declare("tutti.has_ended", builder.getInt1Ty())), leave, rest);
    }
    for (CallInst* call : exits) {
      BasicBlock* block = call->getParent();
      llvm::changeToUnreachable(call);
      block->getTerminator()->eraseFromParent();
      builder.SetInsertPoint(block);
      if (!IsKernel(function)) builder.CreateCall(declare("tutti.end_lane", builder.getVoidTy()));
      builder.CreateBr(leave);
    }
  }

  llvm::Module& module_;
  std::vector<llvm::Function*> by_address_;
  llvm::SmallSetVector<const llvm::Function*, 8> ending_;
};

}  // namespace

void ExitByReturning(llvm::Module& module) { ExitRewriter(module).Run(); }

}  // namespace tutti::compiler
