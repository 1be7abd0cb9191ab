#include "compiler/widen/analysis/local_frame.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>

#include "compiler/contract/intrinsics.h"
#include "compiler/contract/local_stack.h"

namespace tutti::compiler {

void MakeWarpVariable(llvm::AllocaInst& alloca) {
  alloca.setMetadata("tutti.warp_variable", llvm::MDNode::get(alloca.getContext(), {}));
}

bool IsWarpVariable(const llvm::Value& pointer) {
  const auto* alloca = llvm::dyn_cast<llvm::AllocaInst>(&pointer);
  return alloca != nullptr && alloca->hasMetadata("tutti.warp_variable");
}

LocalFrame::LocalFrame(const llvm::Function& function) {
  const llvm::DataLayout& layout = function.getParent()->getDataLayout();
  for (const llvm::Instruction& instruction : llvm::instructions(function)) {
    const auto* alloca = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (alloca == nullptr || !alloca->isStaticAlloca() || IsWarpVariable(*alloca)) continue;
    bytes_ = llvm::alignTo(bytes_, alloca->getAlign());
    offsets_[alloca] = bytes_;
    bytes_ += alloca->getAllocationSize(layout)->getFixedValue();
  }
  bytes_ = llvm::alignTo(bytes_, 16);
}

uint64_t StackBytes(const llvm::Module& module) {
  return module.getFunction(IntrinsicName("tutti.stack").get()) != nullptr ? kLocalStackBytes : 0;
}

}  // namespace tutti::compiler
