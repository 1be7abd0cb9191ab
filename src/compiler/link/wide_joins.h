// Splits joins of many ways with many phis, such as the end of a turn, to which hundreds of checks lead with dozens of
// values.
//
// Each phi is a copy at the end of each way, so there are as many copies as ways times phis, which the register
// coalescer joins one by one, looking each time at the whole of a value that is live everywhere. But from one way to
// the next in the order of the code few of the values change. So ways that are neighbours meet in a block of their own
// first: it needs phis for what differs among them, and all the rest is copied once for the whole group.
#pragma once

#include <llvm/IR/PassManager.h>

namespace tutti::compiler {

// To be the last that changes control flow: it would be taken for a detour.
struct SplitWideJoinsPass : llvm::PassInfoMixin<SplitWideJoinsPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace tutti::compiler
