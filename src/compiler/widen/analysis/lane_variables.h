// Demotes values of a function to stack slots ("variables of the lane") while its control flow is rebuilt, and promotes
// them afterwards.
//
// A variable is zero until it is set, so no path leads to an undefined value. Values of the entry block need no
// variable.
//
// A copy of code has variables of its own, which stay in memory (local_frame.h). Lanes that switch to the copy take
// along the values that it needs.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/BitVector.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include <vector>

namespace tutti::compiler {

class LaneVariables {
 public:
  // Moves the function's own allocas to the front of its entry block, which is about to be split.
  explicit LaneVariables(llvm::Function& function);

  llvm::AllocaInst* New(llvm::Type* type, const llvm::Twine& name);
  // Demotes every phi of these blocks.
  void KeepPhis(llvm::ArrayRef<llvm::BasicBlock*> blocks);
  // Demotes every phi, and every value used outside of its own block.
  void KeepWhatCrosses();
  // Demotes every value with a use that its definition no longer dominates.
  void KeepWhatIsLost();
  // Gives the copy variables of its own, except for `shared` ones, and enters them into `copies`.
  void Double(llvm::ValueToValueMapTy& copies, const llvm::SmallPtrSetImpl<const llvm::Value*>& shared);
  // Call when the copied code is complete except for the ways into it: computes what it needs.
  void FindNeeded();
  // Emits, at the builder, the stores that a lane makes on its way to one of `blocks` of the copy.
  void TakeAlong(llvm::IRBuilder<>& builder, llvm::ArrayRef<llvm::BasicBlock*> blocks);
  // Keeps the variables of the function's own values in memory (local_frame.h).
  void StayInMemory();
  // Finally: promotes all variables except those that stay in memory.
  void Promote();

 private:
  void Keep(llvm::AllocaInst* slot);

  llvm::Function& function_;
  std::vector<llvm::StoreInst*> first_stores_;
  std::vector<llvm::AllocaInst*> slots_;
  llvm::SmallPtrSet<const llvm::AllocaInst*, 8> new_;  // those of them that do not stand for a value of the function
  std::vector<std::pair<llvm::AllocaInst*, llvm::AllocaInst*>> doubled_;  // an original and the copy's
  llvm::DenseMap<const llvm::BasicBlock*, llvm::BitVector> needed_;  // of these, before the block
};

}  // namespace tutti::compiler
