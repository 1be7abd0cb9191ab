// Where the allocas of a function lie in each lane's local memory.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

namespace tutti::compiler {

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
