// Rounds of a loop in which nobody asks whether lanes are left.
//
// A loop that lanes leave in different rounds, as a search does, asks after each round whether any is left. Which round
// is the last differs from warp to warp, and one branch that the processor does not expect costs as much as several
// rounds of a small loop. So such a loop is unrolled, and asks after every fourth round only: where nobody is left, the
// rounds in between change nothing.
//
//   before                                  after
//    loop:  w = words[j]; check it           loop:  round; round; round; round
//           m = m & text[i + j] == w                if (any of m) goto loop, else end
//           if (none of m) goto end
//           if (++j == length) goto found    In each round:  what is rare, and `goto found`: if (none of m) goto end
//           goto loop
//
// A round without lanes may do only what has no effect, and only at places that were checked for all lanes. Widening
// marks what it made so: `tutti.left` the branch that asks whether lanes are left in the loop, `tutti.anyone` a load
// whose address was compared just before, whoever makes it (widen/memory/memory.cc). Before anything else, a cold path
// or an end of the loop, the question is asked that was left out. What such a round computes must not be poison: flags
// such as nuw were true of lanes.
#pragma once

#include <llvm/IR/PassManager.h>

namespace tutti::compiler {

class QuietRoundsPass : public llvm::PassInfoMixin<QuietRoundsPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace tutti::compiler
