// The loops over a block's warps that run its steps (lockstep.h): the body of run(warps, count).
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Function.h>

#include <cstdint>
#include <utility>

namespace tutti::compiler {

// i32 step(warp, number, frame, shared_before, shared_after, state, values...): what a warp does between two barriers
// (frame_cut.h). `number`: of the warp in its block. `values`: those that are known when the block begins.
struct Step {
  enum Argument : unsigned { kWarp, kNumber, kFrame, kSharedBefore, kSharedAfter, kState, kValues };
  static constexpr uint32_t kEnded = ~0u;  // as a state

  llvm::Function* function = nullptr;
  llvm::SmallVector<llvm::Value*, 16> values;  // in run's first block
  uint64_t warps = 0;  // of a block; 0: known only at launch
  bool some_end_early = false;  // else all warps end in the same round
  uint64_t frame_bytes = 0, shared_bytes = 0;
  llvm::SmallVector<std::pair<uint64_t, llvm::Type*>, 8> shared_places;
  // Behind the first so many barriers warps run in ascending order, behind the others in descending order.
  size_t upwards = 0, barriers = 0;
};

// For warps that may wait at different barriers: in each round every warp that has not ended takes one step, wherever
// it is. The barrier at which the previous round's last warp waits determines the order of a round, as where warps have
// stacks of their own. `run` has one block without an end.
void EmitRounds(llvm::Function& run, const Step& step);

// For warps that all wait at the same barrier, as long as they have not ended: each step is a loop of its own with the
// code between its barriers in it, so what warps have in common moves out of the loop, and what is shared is in
// registers. Short steps have no loop but the code for each warp: one with nothing to do costs nothing. Takes
// step.function away. False, and nothing is done, if that makes the code too large.
bool EmitFusedRounds(llvm::Function& run, const Step& step);

}  // namespace tutti::compiler
