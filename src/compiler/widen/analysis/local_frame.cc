#include "compiler/widen/analysis/local_frame.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>

#include "compiler/contract/intrinsics.h"
#include "compiler/contract/local_stack.h"
#include "compiler/widen/analysis/shape.h"

namespace tutti::compiler {

void MakeWarpVariable(llvm::AllocaInst& alloca) {
  alloca.setMetadata("tutti.warp_variable", llvm::MDNode::get(alloca.getContext(), {}));
}

bool IsWarpVariable(const llvm::Value& pointer) {
  const auto* alloca = llvm::dyn_cast<llvm::AllocaInst>(&pointer);
  return alloca != nullptr && alloca->hasMetadata("tutti.warp_variable");
}

void MakeInterleaved(llvm::AllocaInst& alloca, uint64_t distance) {
  auto* value = llvm::ConstantInt::get(llvm::Type::getInt64Ty(alloca.getContext()), distance);
  alloca.setMetadata("tutti.interleaved",
                     llvm::MDNode::get(alloca.getContext(), {llvm::ConstantAsMetadata::get(value)}));
}

uint64_t InterleaveDistance(const llvm::AllocaInst& alloca) {
  const llvm::MDNode* distance = alloca.getMetadata("tutti.interleaved");
  return distance == nullptr ? 0 : llvm::mdconst::extract<llvm::ConstantInt>(distance->getOperand(0))->getZExtValue();
}

LocalFrame::LocalFrame(const llvm::Function& function) {
  const llvm::DataLayout& layout = function.getParent()->getDataLayout();
  for (const llvm::Instruction& instruction : llvm::instructions(function)) {
    const auto* alloca = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (alloca == nullptr || !alloca->isStaticAlloca() || IsWarpVariable(*alloca)) continue;
    uint64_t& bytes = InterleaveDistance(*alloca) != 0 ? interleaved_bytes_ : bytes_;
    bytes = llvm::alignTo(bytes, alloca->getAlign());
    offsets_[alloca] = bytes;
    bytes += alloca->getAllocationSize(layout)->getFixedValue();
  }
  bytes_ = llvm::alignTo(bytes_, 16);
  interleaved_bytes_ = llvm::alignTo(interleaved_bytes_, 16 * kLanes);
}

uint64_t StackBytes(const llvm::Module& module) {
  return module.getFunction(IntrinsicName("tutti.stack").get()) != nullptr ? kLocalStackBytes : 0;
}

uint64_t FrameBytes(llvm::ArrayRef<llvm::Function*> functions, uint64_t stack_bytes) {
  constexpr uint64_t kRecursionBytes = 16 << 10;
  uint64_t of_kernel = 0, of_others = 0;
  for (const llvm::Function* function : functions) {
    uint64_t& bytes = function->getName() == "tutti.kernel" ? of_kernel : of_others;
    bytes += LocalFrame(*function).bytes();
  }
  const uint64_t bytes = of_kernel + (of_others != 0 ? kRecursionBytes : 0) + stack_bytes;
  // Multiples of this put the lanes' copies of a variable into few sets of a cache.
  constexpr uint64_t kFewSets = 512, kLineBytes = 64;
  return bytes != 0 && bytes % kFewSets == 0 ? bytes + kLineBytes : bytes;
}

}  // namespace tutti::compiler
