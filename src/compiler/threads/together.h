// Places where lanes keep together although the program does not say so.
//
// Programs written for warps in lockstep exchange values through shared memory without a barrier: a lane reads what
// another one stored an instruction earlier. Where lanes run one after the other, the first would read too early. So
// between a load of shared memory and a store behind it, a store and a load, or one of these and an atomic operation,
// all lanes that come there go on together (Stop::kTogether), and so they do at the end of each round of a loop in
// which some may come by fewer of these places than others. Volatile accesses count as shared memory, wherever they
// are. And the lanes of a warp print one text after the other, each all of it, as they do on a GPU.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Function.h>

namespace tutti::compiler {

// The instructions in front of which lanes keep together, so that between a load and a store that another lane may see
// there is a stop always.
llvm::SmallVector<llvm::Instruction*, 16> FindTogether(llvm::Function& kernel);

}  // namespace tutti::compiler
