// What an integer may be in any lane.
#pragma once

#include <llvm/IR/ConstantRange.h>
#include <llvm/IR/Value.h>

namespace tutti::compiler {

// Also in a lane that does not come there: by what the value is computed from, not by branches, nor by flags (nuw,
// nsw), which the optimizer may have proved from branches. Lanes without a thread aside. The whole range if that is too
// much to find out.
llvm::ConstantRange RangeInAnyLane(const llvm::Value* value);

}  // namespace tutti::compiler
