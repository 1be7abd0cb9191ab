// Splits a function at calls, as a compiler splits a coroutine at its suspension points: it returns there, and on
// re-entry resumes behind the call. What is live across a cut is kept in a frame that the caller owns. Volatile
// variables, which cannot be SSA values (widen/analysis/local_frame.h), lie in the frame from the start.
//
// Live values are reloaded right behind the cut, so between cuts they are in registers as before. Three kinds are
// rematerialised instead: what is cheap to compute from arguments, vectors from scalars (splats, lane numbers), and
// addresses at a constant distance from another scalar.
//
// Values that all frames would hold alike can be kept once: whoever enters the function gives it a *shared* frame to
// read and another one to write.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

namespace tutti::compiler {

class FrameCut {
 public:
  // A volatile variable, whose place is in the frame.
  static bool IsKept(const llvm::AllocaInst& variable);

  using IsShared = llvm::function_ref<bool(const llvm::Instruction&)>;
  struct Frames {
    llvm::Value *own, *shared_before, *shared_after;
  };

  // Plans the cuts at `calls` of `function`; changes nothing except that a block ends behind each call.
  FrameCut(llvm::Function& function, llvm::ArrayRef<llvm::CallInst*> calls, IsShared is_shared);

  uint64_t frame_bytes() const { return frame_bytes_; }  // a multiple of 64, the alignment of a frame
  uint64_t kept_bytes() const { return kept_bytes_; }  // of these, what values take that are not variables
  uint64_t shared_bytes() const { return shared_bytes_; }  // likewise; 0: nothing is shared
  // The values in a shared frame: their offsets and types.
  llvm::SmallVector<std::pair<uint64_t, llvm::Type*>, 8> shared_places() const;

  // Makes the cuts in `step`, where the function's body is now. Its argument `state` says where it is entered: at the
  // beginning (0), or behind the i-th call (i + 1), where it has returned i + 1.
  void Apply(llvm::Function& step, const Frames& frames, llvm::Value* state);

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
  void Dispatch(llvm::Function& step, llvm::Value* state);
  void PlaceVariables(llvm::Value* frame);
  void Return(Cut& cut, llvm::Function& step, uint32_t state);
  void Restore(Cut& cut, const Frames& frames);
  llvm::Value* MakeAgain(Cut& cut, llvm::Instruction* value, llvm::IRBuilder<>& builder);
  void Rewrite(llvm::Instruction* value, const Frames& frames);
  llvm::Value* Slot(llvm::IRBuilder<>& builder, llvm::Value* frame, llvm::Instruction* value) const;

  llvm::SmallVector<Cut, 8> cuts_;
  struct Place {
    uint64_t offset;
    bool shared;
  };
  llvm::MapVector<llvm::Instruction*, Place> slots_;  // of values live across some cut
  llvm::MapVector<llvm::AllocaInst*, uint64_t> variables_;  // offsets
  uint64_t frame_bytes_ = 0, kept_bytes_ = 0, shared_bytes_ = 0;
};

}  // namespace tutti::compiler
