// Going on to the next block without leaving the code: run, which executes one block, gets a loop around it.
//
// A block of a streaming kernel is a few hundred instructions: eight warps that load, compute and store. Entering the
// code for it costs as much as one of its warps, and so does what it computes before the first warp runs: reads
// parameters and the client's window, says how many elements of each table lie in that, broadcasts scalars. All of that
// is the same in all blocks of a launch, and moves in front of the loop:
//
//   run(warps, count)                          run(warps, count)
//     n, p, q = params                           n, p, q = params
//     limit = elements of p in the window        limit = ...
//     i = ctaid.x << 8                           x = ctaid.x
//     for each warp                              do
//       ...                                        i = x << 8
//                                                  for each warp
//                                                    ...
//                                                  ctaid.x = ++x
//                                                while x < ctaid_end
//
// BlockState::ctaid_end says how the code and the device agree on how far it goes. Nothing else than ctaid.x changes
// from one block to the next; the part of the client's window that a check compares with only grows while blocks run,
// so a block that follows another reaches no further than the first. Between two blocks nothing moves that the program
// can see: others may wait for what a block that has ended has written.
//
// Kernels are left as they are whose warps may wait or end before they are through (kYields, kEndsLanes), of
// cooperative launches, that call functions (which may read ctaid as well), or whose frame's size is known only at
// launch.
#pragma once

#include <llvm/IR/PassManager.h>

namespace tutti::compiler {

// Of the function `tutti.run` of a module with a kernel descriptor.
class BlockLoopPass : public llvm::PassInfoMixin<BlockLoopPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& run, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace tutti::compiler
