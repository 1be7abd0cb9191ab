// Loops of one block whose number of rounds is known before the first one, as `do ...; while (++i != end)`. What their
// accesses reach in all rounds together can be checked before the loop.
#pragma once

#include <llvm/IR/Instructions.h>

#include <optional>

namespace tutti::compiler {

// The counter comes to `end` after (end - first) / step rounds, if that is a whole number (modulo 2^bits) and not 0.
// Else no number is known.
struct CountedLoop {
  llvm::BasicBlock* before = nullptr;  // the only block from which control comes into the loop; goes nowhere else
  llvm::Value *first = nullptr, *end = nullptr;
  unsigned step_log2 = 0;
  bool counts_down = false;
};

// If the loop can have two copies, too.
std::optional<CountedLoop> FindCountedLoop(const llvm::BasicBlock& block);

// A loop of one block, of whose values others see those of the last round only.
bool CanHaveTwoCopies(const llvm::BasicBlock& block);

// At the start of a round: without what the round loads.
bool IsKnownAtStart(const llvm::Value& value, const llvm::BasicBlock& block);

// log2 of how far an address moves up in each round; none if that is not known, or less than `least`.
std::optional<unsigned> StepLog2(const llvm::Value& address, const llvm::BasicBlock& block, unsigned least);

// An integer that moves by as much in each round, or not at all, modulo 2^bits, in however many rounds. Scalar
// evolution knows more of a loop of few rounds: that an index does not wrap before it is extended, for example.
bool KeepsItsSteps(const llvm::Value& value, const llvm::BasicBlock& block);

}  // namespace tutti::compiler
