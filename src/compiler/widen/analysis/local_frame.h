// Lays out the allocas of a function in the local memory of a warp: first come the frames of the lanes, and then, for
// all lanes together, the arrays that are interleaved (memory/interleaved_locals.h).
//
// Two kinds of variables are not in it: those of an apart copy (apart_copy.h), and those that would be too many SSA
// values in a loop of turns (turns.h). Each of these is one vector in the warp's frame and stays in memory; as SSA
// values all of them would be phis of the loop of turns.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

namespace tutti::compiler {

void MakeWarpVariable(llvm::AllocaInst& alloca);
bool IsWarpVariable(const llvm::Value& pointer);

// `alloca` holds all lanes' copies, two lanes' ones of an element being `distance` bytes apart.
void MakeInterleaved(llvm::AllocaInst& alloca, uint64_t distance);
// 0 if each lane has its copy in its own frame.
uint64_t InterleaveDistance(const llvm::AllocaInst& alloca);

class LocalFrame {
 public:
  explicit LocalFrame(const llvm::Function& function);

  uint64_t bytes() const { return bytes_; }  // of each lane; a multiple of 16
  uint64_t interleaved_bytes() const { return interleaved_bytes_; }  // of all lanes; a multiple of 16 for each
  // In the lane's frame, or in the memory of what is interleaved.
  uint64_t OffsetOf(const llvm::AllocaInst& alloca) const { return offsets_.lookup(&alloca); }

 private:
  llvm::DenseMap<const llvm::AllocaInst*, uint64_t> offsets_;
  uint64_t bytes_ = 0, interleaved_bytes_ = 0;
};

// Of each lane's local memory, for alloca: tutti.stack. 0 if the module has none.
uint64_t StackBytes(const llvm::Module& module);
// Of each lane: enough for all functions that are on the call stack at once, and the stack of alloca.
uint64_t FrameBytes(llvm::ArrayRef<llvm::Function*> functions, uint64_t stack_bytes);

}  // namespace tutti::compiler
