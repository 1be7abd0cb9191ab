// The order in which a warp executes the blocks of a function, and where diverged lanes reconverge.
//
// The order is topological. Loops are contiguous, what follows a loop comes after it, blocks that lead to a *meeting*
// (a barrier, an operation that names other lanes) come after blocks that do not, and the return is last. An end of the
// kernel that is reached from a loop with a meeting, and from nowhere else, lies in the loop's range, right behind the
// jump (early_ends.h).
//
// Each block that lanes may have to wait for has a *pending mask*. A block adds its lanes to the pending masks of its
// successors; the next block in the order with a lane pending runs next, except that a loop's latch tests its header
// first. So all lanes that can reach a block have reached it before it runs: diverged lanes reconverge at the immediate
// post-dominator or earlier, whatever the shape of the graph. No structured control flow is needed.
//
// A loop that waits for another lane of the warp would never end if that lane waits here for the loop. Functions with
// such loops are rewritten first (turns.h).
//
// A function with an apart copy (apart_copy.h) has blocks of the copy, and *gates*: blocks where lanes of the original
// test whether the warp has switched to the copy. Lanes are in both only until those of the original reach their gates.
//
// Simulate() computes, as a fixpoint over pairs of blocks, which other blocks may have lanes pending when a block
// starts (`waiting`). If none has, all lanes of the function are in the block and it needs no mask. A block that may
// itself be pending when lanes are added to it is a *join*: its phis blend. Everything else about divergence of values
// follows from their operands, so this is the whole of control dependence (shape_analysis.h). Given LCSSA form it also
// covers lanes that leave a loop in different iterations ("temporal divergence").
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

  // Recomputes everything below, given the blocks that end in a divergent branch.
  void Simulate(const llvm::BitVector& divergent);

  // Other blocks that may have lanes pending when block i starts.
  const llvm::BitVector& waiting(unsigned i) const { return waiting_[i]; }
  bool runs_all_lanes(unsigned i) const { return waiting_[i].none(); }
  // This block runs only after the warp has switched to the copy.
  bool is_of_copy(unsigned i) const { return is_twice_ && copy_.test(i); }
  bool is_join(unsigned i) const { return joins_.test(i); }
  bool is_join(const llvm::BasicBlock* block) const { return is_join(index(block)); }

  // The blocks that may run after `from` has passed its lanes to `targets`, in the order to test them; the last one
  // runs if no other has lanes. One of `targets` must have some.
  llvm::SmallVector<unsigned, 4> Next(unsigned from, llvm::ArrayRef<unsigned> targets) const;

  // In the order of execution (not in the function's graph): every run of b came after one of a.
  bool Dominates(unsigned a, unsigned b) const;
  // The next that does, of a block that is reached: the first block's is itself.
  unsigned dominator(unsigned i) const { return dominator_[i]; }
  bool is_reached(unsigned i) const { return dominator_[i] < size(); }

 private:
  llvm::SmallVector<unsigned, 8> Candidates(unsigned from, llvm::ArrayRef<unsigned> targets) const;
  void FindCopy();
  bool MayRun(unsigned i, bool after_change) const;
  bool GatesAreComplete() const;
  void FindWaiting(const llvm::BitVector& divergent, std::vector<llvm::BitVector>& predecessors);
  unsigned RankFrom(unsigned from, unsigned i) const;
  void ComputeDominators(const std::vector<llvm::BitVector>& predecessors);

  std::vector<llvm::BasicBlock*> order_;
  llvm::DenseMap<const llvm::BasicBlock*, unsigned> index_;
  std::vector<llvm::BitVector> waiting_;
  llvm::BitVector joins_;
  llvm::DenseMap<unsigned, unsigned> last_;  // last block of a loop's range, by header
  bool is_twice_ = false;
  llvm::BitVector copy_, gates_, changes_;  // blocks of the copy; gates; blocks that switch the warp to the copy
  std::vector<unsigned> dominator_;
};

// Blocks from which a lane can reach a block where lanes wait for each other (WaitsForLanes), those included.
llvm::DenseSet<const llvm::BasicBlock*> BlocksBeforeMeetings(llvm::Function& function);
// The blocks reachable from `first`, except the return.
llvm::SetVector<llvm::BasicBlock*> PartFrom(llvm::BasicBlock* first);
// Only one jump leads into the part: to its first block.
bool HasOneEntry(const llvm::SetVector<llvm::BasicBlock*>& part);

// A block's distinct successors, as indices: one for an unconditional branch, or for equal targets.
llvm::SmallVector<unsigned, 2> Targets(const Schedule& schedule, const llvm::BasicBlock& block);

}  // namespace tutti::compiler
