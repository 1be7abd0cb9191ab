// In which order lanes that have parted go on.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Function.h>

namespace tutti::compiler {

// The blocks that can be reached, each behind those that lead to it, and all of a loop in front of what comes behind
// it: in a reverse post-order, a block behind an exit in a loop's middle may come before the rest of the loop, and
// lanes that have left it would not wait for the others. `function` has no loops of several entries.
llvm::SmallVector<llvm::BasicBlock*, 64> InOrder(llvm::Function& function);

}  // namespace tutti::compiler
