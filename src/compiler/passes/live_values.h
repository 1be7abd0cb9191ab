// Liveness: which values a function that is cut at certain points must save.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

namespace tutti::compiler {

// For each of `blocks` the instructions that are live into it, in a fixed order. Without allocas, which are places and
// not values.
llvm::DenseMap<llvm::BasicBlock*, llvm::SmallVector<llvm::Instruction*, 16>> LiveInto(
    llvm::Function& function, llvm::ArrayRef<llvm::BasicBlock*> blocks);

}  // namespace tutti::compiler
