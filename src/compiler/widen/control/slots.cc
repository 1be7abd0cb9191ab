// Slots are empty until lanes come, and empty again when these have gone on.
//
// The slots of a block's phis and mask are read where lanes arrive at the block, for those that are there already, and
// when the block runs. If the schedule says that no lane is at the block when another one starts, they hold nothing
// then. LLVM cannot know that: what a round of a loop has left in them would be a phi of the loop, and of whatever
// joins in it. So they are cleared where that is last so before lanes arrive. It is not done once for all where the
// function begins, for LLVM looks at every block behind the first that sets a slot, for each slot.
//
// In a loop of turns around 850 blocks, 800 of which can be the last with lanes, all that was 77 vectors and masks that
// lived throughout, and 62,000 operands of phis.
#include <llvm/IR/CFG.h>
#include <llvm/IR/Constants.h>

#include "compiler/widen/emit/function_emitter.h"

namespace tutti::compiler {
namespace {

void Clear(llvm::BasicBlock& at, llvm::Value* slot, llvm::Type* type) {
  llvm::IRBuilder<>(&at, at.begin()).CreateStore(llvm::Constant::getNullValue(type), slot);
}

// The last block that is passed on all ways to where lanes come from, with none at `block`.
unsigned LastWithout(const Schedule& schedule, unsigned block) {
  const auto is_before = [&](unsigned i) {
    return llvm::all_of(llvm::predecessors(schedule.block(block)), [&](const llvm::BasicBlock* from) {
      const unsigned at = schedule.index(from);
      return !schedule.is_reached(at) || schedule.Dominates(i, at);
    });
  };
  if (!schedule.is_reached(block)) return 0;
  unsigned found = schedule.dominator(block);
  while (found != 0 && (schedule.waiting(found).test(block) || !is_before(found))) found = schedule.dominator(found);
  return found;
}

}  // namespace

void FunctionEmitter::ClearSlots() {
  for (unsigned block = 0; block < schedule_.size(); ++block) {
    const auto phis = schedule_.block(block)->phis();
    if (pending_[block] == nullptr && phis.empty()) continue;
    // What stays in memory costs LLVM nothing, and is cleared once.
    const bool in_memory = IsMetByMany(block);
    llvm::BasicBlock& at = in_memory ? *setup_first_ : *entries_[LastWithout(schedule_, block)];
    for (const llvm::PHINode& phi : phis) {
      if (shape(&phi).is_constant_lanes()) continue;
      for (llvm::AllocaInst* slot : PhiSlots(phi)) Clear(at, slot, slot->getAllocatedType());
    }
    if (pending_[block] == nullptr || schedule_.is_of_copy(block)) continue;
    Clear(at, pending_[block], llvm::cast<llvm::AllocaInst>(pending_[block])->getAllocatedType());
  }
}

}  // namespace tutti::compiler
