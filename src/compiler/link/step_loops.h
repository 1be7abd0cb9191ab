// One call of a step (rounds.h), for both ways to run the steps of a block.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "compiler/link/rounds.h"

namespace tutti::compiler {

// The arrays of all warps, and the frames that they share.
struct StepMemory {
  llvm::Value *warps, *frames, *shared_before, *shared_after;
};

// `count`: of warps, 64 bits.
StepMemory MakeStepMemory(llvm::IRBuilder<>& builder, llvm::Function& run, const Step& step, llvm::Value* count);

// `number`: of the warp, 64 bits.
llvm::CallInst* CallStep(llvm::IRBuilder<>& builder, const Step& step, const StepMemory& memory, llvm::Value* number,
                         llvm::Value* state);

// After a round: what the warps have written into their shared frame is what they read in the next one.
void PassSharedOn(llvm::IRBuilder<>& builder, const Step& step, const StepMemory& memory);

}  // namespace tutti::compiler
