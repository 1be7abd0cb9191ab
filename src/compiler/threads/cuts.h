// Cuts a thread's function at its stops (compiler/runtime/thread_state.h), so that it returns there and goes on behind
// them when it is called again:
//
//     x = tutti.shfl(members, value, b, c)        state.stop = shuffle; state.arguments = ...; state.place = 7; return
//     use(x, y)                              =>
//                                             7:  x = state.result; y = frame.y; use(x, y)
//
// What is live across a stop is kept in the thread's frame, behind its state; all else stays in registers.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include <cstdint>

#include "compiler/contract/intrinsics.h"
#include "compiler/runtime/thread_state.h"

namespace tutti::compiler {

class ThreadEmitter;

// At a call of these a thread stops: other lanes or warps have a part in it.
bool IsStop(Intrinsic kind);
bool IsStop(const llvm::Instruction& instruction);

class Cuts {
 public:
  // `function`: void(ThreadWarp*, ThreadState*), with a kernel's code.
  Cuts(ThreadEmitter& emitter, llvm::Function& function) : emitter_(emitter), function_(function) {}

  // Replaces the stops by what a thread writes down there. `together`, `writes`: instructions in front of which there
  // are further ones (together.h, renewal.h).
  void Cut(llvm::ArrayRef<llvm::Instruction*> together, llvm::ArrayRef<llvm::Instruction*> writes);
  // Makes the function return there, and begin where the thread has stopped. Its variables become addresses. Nothing
  // may be changed afterwards. Returns the bytes of a state with its frame, a multiple of 16.
  uint64_t Finish();

 private:
  struct Place {
    llvm::Instruction* stop;  // a branch to `after`, until Finish
    llvm::BasicBlock* after;
    llvm::StoreInst* number;
  };
  struct Request;

  Request RequestOf(const llvm::CallInst& call) const;
  void CutBefore(llvm::Instruction& instruction, const Request& request);
  void CutBeforeWrite(llvm::Instruction& instruction);
  void UseResult(llvm::CallInst& call);
  void EndBlocks();
  void Number();
  void KeepLiveValues();
  void Keep(llvm::Instruction& value);
  void PlaceVariables();
  void Dispatch();

  ThreadEmitter& emitter_;
  llvm::Function& function_;
  llvm::DenseMap<const llvm::CallInst*, guest::BarrierMode> wait_modes_;
  llvm::SmallVector<Place, 64> places_;  // from Number on in the order of the program
  uint64_t state_bytes_ = sizeof(guest_runtime::ThreadState);
};

}  // namespace tutti::compiler
