// The order in which a warp executes the blocks of a function, and where lanes wait for each other.
//
// Blocks lie in one order: topological, loops in one piece, what follows a loop after it, what leads to a *meeting* (a
// barrier, an operation that names other lanes) after what does not, the return last. An end of the kernel that lanes
// come to from a loop with a meeting, and from nowhere else, lies in the loop's piece, right behind the jump
// (early_ends.h). A warp runs through the order; each block that lanes may have to wait for has a *pending mask*. A
// block hands its lanes to the pending masks of its successors, and the next block in the order with a lane pending
// runs next; a loop's latch looks at its header first. So all lanes that can reach a block have reached it before it
// runs: divergent lanes meet again at the immediate post-dominator or earlier, whatever the shape of the graph, and
// nothing needs structured control flow.
//
// A loop that waits for what another lane of the warp does would wait for ever beside a lane that waits for it here.
// Functions with such loops get another order before this one (turns.h).
//
// A function that is there twice (apart_copy.h) has blocks of the copy, and *gates*, where lanes of the original look
// whether the warp has gone over to it. Lanes are in both only until those of the original have come to their gates.
//
// Simulate() finds by a fixpoint over block pairs which other blocks may have lanes pending when a block starts
// (`waiting`). If there are none, all lanes of the function are in the block and it needs no mask. If a block may
// itself be pending when lanes are handed to it, it is a *join*: its phis blend. All else about divergence of values
// follows from their operands, so this is the whole of control dependence (shape_analysis.h). It covers lanes that
// leave a loop at different times too, given LCSSA form.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/BitVector.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Function.h>

#include <vector>

namespace tutti::compiler {

class Schedule {
 public:
  // The function has no irreducible loops and every loop has one latch.
  Schedule(llvm::Function& function, const llvm::LoopInfo& loops);

  unsigned size() const { return static_cast<unsigned>(order_.size()); }
  llvm::BasicBlock* block(unsigned i) const { return order_[i]; }
  unsigned index(const llvm::BasicBlock* block) const { return index_.lookup(block); }

  // Recomputes all below for this set of blocks that end in a branch on which lanes disagree.
  void Simulate(const llvm::BitVector& divergent);

  // Other blocks that may have lanes pending when block i starts.
  const llvm::BitVector& waiting(unsigned i) const { return waiting_[i]; }
  bool runs_all_lanes(unsigned i) const { return waiting_[i].none(); }
  // A block that runs only after the warp has gone over to the copy.
  bool is_of_copy(unsigned i) const { return is_twice_ && copy_.test(i); }
  bool is_join(unsigned i) const { return joins_.test(i); }
  bool is_join(const llvm::BasicBlock* block) const { return is_join(index(block)); }

  // The blocks that may run after `from` handed its lanes to `targets`, in the order to ask them; the last one runs if
  // no other has lanes. One of `targets` must have some.
  llvm::SmallVector<unsigned, 4> Next(unsigned from, llvm::ArrayRef<unsigned> targets) const;

  // In the order of execution (not in the function's graph): every run of b came through a.
  bool Dominates(unsigned a, unsigned b) const;

 private:
  llvm::SmallVector<unsigned, 8> Candidates(unsigned from, llvm::ArrayRef<unsigned> targets) const;
  void FindCopy();
  bool MayRun(unsigned i, bool after_change) const;
  bool GatesAreComplete() const;
  void FindWaiting(const llvm::BitVector& divergent, std::vector<llvm::BitVector>& predecessors);
  unsigned Place(unsigned from, unsigned i) const;
  void ComputeDominators(const std::vector<llvm::BitVector>& predecessors);

  std::vector<llvm::BasicBlock*> order_;
  llvm::DenseMap<const llvm::BasicBlock*, unsigned> index_;
  std::vector<llvm::BitVector> waiting_;
  llvm::BitVector joins_;
  llvm::DenseMap<unsigned, unsigned> last_;  // block of a loop's piece, by header
  bool is_twice_ = false;
  llvm::BitVector copy_, gates_, changes_;  // blocks of the copy; gates; blocks that send the warp to the copy
  std::vector<unsigned> dominator_;
};

// Blocks from which a lane can come to where lanes wait for each other (WaitsForLanes), those included.
llvm::DenseSet<const llvm::BasicBlock*> BlocksBeforeMeetings(llvm::Function& function);
// What lanes can come to from `first`, but for the return.
llvm::SetVector<llvm::BasicBlock*> PartFrom(llvm::BasicBlock* first);
// Only one jump leads into the part, to its first block.
bool HasOneEntry(const llvm::SetVector<llvm::BasicBlock*>& part);

// Distinct successors of a block as indices: one for an unconditional branch or one with equal targets.
llvm::SmallVector<unsigned, 2> Targets(const Schedule& schedule, const llvm::BasicBlock& block);

}  // namespace tutti::compiler
