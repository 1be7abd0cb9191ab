// Moves what runs lane after lane (lane_regions.h) out of a function, so that the rest of widening sees a call
// and not the region's branches and loops.
#pragma once

#include <llvm/IR/Function.h>

#include <vector>

#include "compiler/widen/emit/module_state.h"

namespace tutti::compiler {

// Functions of one lane, one for each region. Each takes what the region uses and returns a struct of what is used
// behind it, or void. lane_calls.h makes a warp's code of their calls; they are called nowhere else.
std::vector<llvm::Function*> OutlineLaneRegions(llvm::Function& scalar, const ModuleState& state);

bool IsLaneFunction(const llvm::Function& function);

}  // namespace tutti::compiler
