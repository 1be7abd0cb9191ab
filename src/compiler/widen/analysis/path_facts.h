// What is known of a value's bits at an instruction, given the branches that lead there: behind `if (tid < 64)` a
// thread index has six bits. It holds for lanes that get there, and for no others.
#pragma once

#include <llvm/Analysis/DomConditionCache.h>
#include <llvm/IR/Dominators.h>
#include <llvm/Support/KnownBits.h>

#include <optional>

namespace tutti::compiler {

class PathFacts {
 public:
  // Looks at the function when it is first asked.
  explicit PathFacts(llvm::Function& scalar) : scalar_(scalar) {}

  llvm::KnownBits BitsAt(const llvm::Value* value, const llvm::Instruction& at);

 private:
  llvm::Function& scalar_;
  std::optional<llvm::DominatorTree> tree_;
  llvm::DomConditionCache conditions_;
};

}  // namespace tutti::compiler
