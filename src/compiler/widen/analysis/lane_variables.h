// Values of a function as variables of the lane while its control flow is rebuilt: stack slots, then SSA values again.
//
// A variable is zero before it is set: whatever way leads to its use, there is no undefined value. What the entry block
// defines needs none.
//
// Where code is copied, the copy has variables of its own, which stay variables (local_frame.h). Whoever goes over to
// the copy takes the values along that are needed there.
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
  // Makes one of every phi of these blocks.
  void KeepPhis(llvm::ArrayRef<llvm::BasicBlock*> blocks);
  // Makes one of every phi and of every value that is used in another block than its own.
  void KeepWhatCrosses();
  // Makes one of every value that is used where its definition no longer dominates.
  void KeepWhatIsLost();
  // Makes the copy's own of all that there are, but for `shared` ones, and puts them into `copies`.
  void Double(llvm::ValueToValueMapTy& copies, const llvm::SmallPtrSetImpl<const llvm::Value*>& shared);
  // The copied code is complete, but for ways into it.
  void FindNeeded();
  // At the builder's place, on the way to one of `blocks` of the copied code.
  void TakeAlong(llvm::IRBuilder<>& builder, llvm::ArrayRef<llvm::BasicBlock*> blocks);
  // What is kept of the function's values stays variables (local_frame.h).
  void StayInMemory();
  // The end: all but those that stay become values again.
  void Promote();

 private:
  void Keep(llvm::AllocaInst* slot);

  llvm::Function& function_;
  std::vector<llvm::AllocaInst*> slots_;
  llvm::SmallPtrSet<const llvm::AllocaInst*, 8> new_;  // of these, that are no values of the function
  std::vector<std::pair<llvm::AllocaInst*, llvm::AllocaInst*>> doubled_;  // an original and the copy's
  llvm::DenseMap<const llvm::BasicBlock*, llvm::BitVector> needed_;  // of these, before the block
};

}  // namespace tutti::compiler
