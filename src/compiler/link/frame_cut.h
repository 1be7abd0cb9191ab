// Splits a function at calls, as a compiler splits a coroutine at its suspension points: it returns there, and on
// re-entry resumes behind the call. What is live across a cut is kept in a frame that the caller owns. Volatile
// variables, which cannot be SSA values (widen/analysis/local_frame.h), lie in the frame from the start.
//
// Live values are reloaded right behind the cut, so between cuts they are in registers as before. Vectors that are
// cheap to compute from scalars (splats, lane numbers) are rematerialised instead.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

namespace tutti::compiler {

class FrameCut {
 public:
  // Plans the cuts at `calls` of `function`; changes nothing except that a block ends behind each call.
  FrameCut(llvm::Function& function, llvm::ArrayRef<llvm::CallInst*> calls);

  uint64_t frame_bytes() const { return frame_bytes_; }  // a multiple of 64, the alignment of a frame

  // Makes the cuts. Moves the body to `step`, i32 step(ptr, frame, state): it starts with state 0, returns i + 1 at the
  // i-th call, and entered with that state resumes behind it.
  void Apply(llvm::Function& step);

 private:
  struct Cut {
    llvm::CallInst* call;
    llvm::BasicBlock* after;
    llvm::SmallVector<llvm::Instruction*, 16> kept;
    llvm::SmallVector<llvm::Instruction*, 8> made_again;
    llvm::DenseMap<llvm::Instruction*, llvm::Value*> values;  // of both, behind the cut
  };

  void Plan(Cut& cut, llvm::ArrayRef<llvm::Instruction*> live);
  void Keep(Cut& cut, llvm::Instruction* value);
  void Dispatch(llvm::Function& step);
  void PlaceVariables(llvm::Function& step);
  void Return(Cut& cut, llvm::Function& step, uint32_t state);
  void Restore(Cut& cut, llvm::Value* frame);
  llvm::Value* MakeAgain(Cut& cut, llvm::Instruction* value, llvm::IRBuilder<>& builder);
  void Rewrite(llvm::Instruction* value, llvm::Value* frame);
  llvm::Value* Slot(llvm::IRBuilder<>& builder, llvm::Value* frame, llvm::Instruction* value) const;

  llvm::SmallVector<Cut, 8> cuts_;
  llvm::MapVector<llvm::Instruction*, uint64_t> slots_;  // offsets of values live across some cut
  llvm::MapVector<llvm::AllocaInst*, uint64_t> variables_;  // offsets
  uint64_t frame_bytes_ = 0;
};

}  // namespace tutti::compiler
