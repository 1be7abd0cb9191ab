// What the warps of a block have in common, seen from the code of one of them: which values are the same in all, and
// whether all pass the same barriers in the same order.
//
// It is the uniformity analysis of widening (widen/analysis/shape.h) one level up, and simpler: a value differs if it
// comes from the warp's own state, from memory that can change, or from a way that not all warps take. Where a branch
// parts the warps, everything up to its immediate postdominator counts as such a way.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

namespace tutti::compiler {

class BlockValues {
 public:
  // Of `warp`, whose first argument is its WarpState. `param_bytes`: of the kernel's parameters. With `turns` a warp
  // that has gone where it comes to none of these has left the others: what is said is of those that have not.
  BlockValues(llvm::Function& warp, uint32_t param_bytes, llvm::ArrayRef<llvm::CallInst*> turns = {});

  // Whenever a warp waits at one of these, all others that wait at all wait there too.
  bool AllMeetAt(llvm::ArrayRef<llvm::CallInst*> barriers) const;

  // Equal in all warps, each time that they are at the same place on their common way.
  bool IsShared(const llvm::Instruction& value) const { return !differs_.contains(&value); }

  // A scalar that is known when the block begins: from the block's state, its parameters and constants, by arithmetic
  // that cannot fail. It can be computed anywhere, before the first warp runs as well.
  bool IsOfBlock(const llvm::Value& value);

  // The load of the warp's number in its block.
  static bool IsWarpNumber(const llvm::Instruction& value);

 private:
  void Differs(const llvm::Value* value);
  void Follow();
  void Part(const llvm::BasicBlock& at);
  bool Leave(const llvm::BasicBlock& at);
  bool IsOfBlockLoad(const llvm::LoadInst& load) const;

  const llvm::Function& warp_;
  const uint64_t param_bytes_;
  bool knows_ways_ = true;  // false: its control flow is too strange to say
  llvm::DenseMap<const llvm::BasicBlock*, const llvm::BasicBlock*> meets_;  // immediate postdominator; null: none
  llvm::DenseMap<const llvm::BasicBlock*, llvm::SmallVector<llvm::SmallPtrSet<const llvm::BasicBlock*, 8>, 2>> loops_;
  llvm::DenseSet<const llvm::Value*> differs_;
  llvm::SmallVector<const llvm::Value*, 64> pending_;
  llvm::SmallPtrSet<const llvm::BasicBlock*, 32> to_turns_;  // blocks from which a warp may come to one
  llvm::SmallPtrSet<const llvm::BasicBlock*, 16> parted_;  // blocks that end with a branch that parts the warps
  llvm::SmallPtrSet<const llvm::BasicBlock*, 32> apart_;  // blocks that not all warps may reach
  llvm::DenseMap<const llvm::Value*, bool> of_block_;
};

}  // namespace tutti::compiler
