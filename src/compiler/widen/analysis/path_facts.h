// Known bits of a value at an instruction, given the branches that lead there: behind `if (tid < 64)` a thread index
// has six bits. Holds only for lanes that reach the instruction.
#pragma once

#include <llvm/Analysis/DomConditionCache.h>
#include <llvm/IR/Dominators.h>
#include <llvm/Support/KnownBits.h>

#include <optional>

namespace tutti::compiler {

class PathFacts {
 public:
  // Analyses the function on the first query.
  explicit PathFacts(llvm::Function& scalar) : scalar_(scalar) {}

  llvm::KnownBits BitsAt(const llvm::Value* value, const llvm::Instruction& at);

 private:
  llvm::Function& scalar_;
  std::optional<llvm::DominatorTree> tree_;
  llvm::DomConditionCache conditions_;
};

}  // namespace tutti::compiler
