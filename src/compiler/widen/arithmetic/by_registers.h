// Instructions that LLVM knows by the register alone, on vectors of 32 lanes.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>

namespace tutti::compiler {

using UpToThree = llvm::SmallVector<llvm::Value*, 3>;

// `operation`, for each register of 512 bits that the operands come in: their slices, all of one width.
llvm::Value* ByRegisters(llvm::IRBuilder<>& builder, const UpToThree& operands,
                         llvm::function_ref<llvm::Value*(const UpToThree&)> operation);

}  // namespace tutti::compiler
