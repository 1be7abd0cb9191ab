// Addresses that a loop moves along an array from where each thread found its part: values[starts[row] + k].
//
// Compilers keep such an address in a register and add to it. What it began with differs from lane to lane, so widening
// sees 32 addresses of 64 bits that change. Here it becomes the sum of that and of a distance, which all lanes share:
// in each round the addresses have one base, and 32-bit indices that stay the same, and that is what gathers and checks
// of addresses are cheap for (widen/memory/indexed.h).
#pragma once

#include <llvm/IR/PassManager.h>

namespace tutti::compiler::lowering {

// phi [base + ext(index), ...], [phi + constant, ...] becomes (base + ext(index)) + phi [0, ...], [phi + constant, ...]
// where the index was loaded from memory.
struct MovingPointersPass : llvm::PassInfoMixin<MovingPointersPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

}  // namespace tutti::compiler::lowering
