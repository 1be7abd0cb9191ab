// Where the allocas of a function lie in each lane's local memory.
//
// Variables of lanes that take turns in a copy of the function (apart_copy.h), or that are too many for values
// (turns.h), do not: each is one vector in the warp's frame. They stay in memory, since as values they would all be
// carried round the loop of turns.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

namespace tutti::compiler {

void MakeWarpVariable(llvm::AllocaInst& alloca);
bool IsWarpVariable(const llvm::Value& pointer);

class LocalFrame {
 public:
  explicit LocalFrame(const llvm::Function& function);

  uint64_t bytes() const { return bytes_; }  // a multiple of 16
  uint64_t OffsetOf(const llvm::AllocaInst& alloca) const { return offsets_.lookup(&alloca); }

 private:
  llvm::DenseMap<const llvm::AllocaInst*, uint64_t> offsets_;
  uint64_t bytes_ = 0;
};

}  // namespace tutti::compiler
