// Cuts a function at calls: it returns there, and when it is entered again goes on behind the call, with what is needed
// later kept in a frame that the caller owns. Variables that are volatile, and so are no values (widen/local_frame.h),
// lie in the frame from the beginning.
//
// What is needed behind a cut is loaded right behind it, so between cuts values live in registers as before. Cheap
// vector values that can be made of scalars (splats, lane numbers) are made again rather than kept.
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
  // Plans the cuts at `calls` of `function`; changes nothing but that a block ends behind each call.
  FrameCut(llvm::Function& function, llvm::ArrayRef<llvm::CallInst*> calls);

  uint64_t frame_bytes() const { return frame_bytes_; }  // a multiple of 64, the alignment of a frame

  // Makes the cuts. The body now belongs to `step`, i32 step(ptr, frame, state), which returns at the i-th call the
  // state i + 1; entered with that state it goes on there, with 0 at the beginning.
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
  llvm::MapVector<llvm::Instruction*, uint64_t> slots_;  // offsets of what is kept at some cut
  llvm::MapVector<llvm::AllocaInst*, uint64_t> variables_;  // offsets
  uint64_t frame_bytes_ = 0;
};

}  // namespace tutti::compiler
