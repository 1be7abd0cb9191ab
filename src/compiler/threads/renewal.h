// How a block whose quick code may go on for long is rid of it: it begins anew in better code as soon as there is some
// (guest/exec/block_run.h). It can as long as it has written nothing that others than itself can see:
//
//     for (i = 0; i < n; ++i) {                 for (i = 0; i < n; ++i) {
//       sum += a[i];                              sum += a[i];
//     }                                    =>     if (newer code) begin_anew();
//     out[t] = sum;                             }
//                                               if (!block.writes) stop;  until the whole block can go no further
//                                               out[t] = sum;
//
// So no thread writes while another one of its block is still in such a loop, and what is behind is short (suited.h).
// Loops that wait for others look as well: what looks like waiting may do work in each round.
#pragma once

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

namespace llvm {
class LoopInfo;
}

namespace tutti::compiler {

class ThreadEmitter;

// The blocks in which a thread may have written what others than its block can see: in global memory, a text, an
// allocation; or does.
llvm::DenseSet<const llvm::BasicBlock*> BlocksBehindWrites(llvm::Function& kernel);

struct Renewal {
  // In front of which a thread stops for the others of its block, so that each way to such a write has one.
  llvm::SmallVector<llvm::Instruction*, 4> writes;
  // The ends of rounds in which it looks for newer code.
  llvm::SmallVector<llvm::Instruction*, 8> rounds;
};
Renewal FindRenewal(llvm::Function& kernel, const llvm::LoopInfo& loops);

// In front of `end`, which one of `rounds` is.
void EmitLookForNewerCode(ThreadEmitter& emitter, llvm::Instruction& end);

}  // namespace tutti::compiler
