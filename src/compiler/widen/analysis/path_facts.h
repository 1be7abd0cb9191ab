// What is known of a value at an instruction. Holds only for lanes that reach the instruction.
#pragma once

#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/DomConditionCache.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/Support/KnownBits.h>

#include <memory>
#include <optional>

namespace tutti::compiler {

class PathFacts {
 public:
  // Analyses the function on the first query.
  explicit PathFacts(llvm::Function& scalar) : scalar_(scalar) {}

  // Given the branches that lead there: behind `if (tid < 64)` a thread index has six bits.
  llvm::KnownBits BitsAt(const llvm::Value* value, const llvm::Instruction& at);
  // Whether an integer is at most this, by its known bits or by how often loops run.
  bool IsAtMost(const llvm::Value* value, uint64_t most, const llvm::Instruction& at);
  // Greatest distance of a pointer from the start of what it is derived from.
  uint64_t GreatestDistance(const llvm::Value& pointer, const llvm::AllocaInst& from);

 private:
  // Of loops; made on the first query.
  struct Loops {
    Loops(llvm::Function& scalar, llvm::DominatorTree& tree);

    llvm::TargetLibraryInfoImpl functions;
    llvm::TargetLibraryInfo library;
    llvm::AssumptionCache assumptions;
    llvm::LoopInfo loops;
    llvm::ScalarEvolution evolution;
  };

  llvm::DominatorTree& Tree();
  llvm::ScalarEvolution& Evolution();

  llvm::Function& scalar_;
  std::optional<llvm::DominatorTree> tree_;
  llvm::DomConditionCache conditions_;
  std::unique_ptr<Loops> loops_;
};

}  // namespace tutti::compiler
