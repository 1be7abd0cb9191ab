// What every run of LLVM passes needs, before widening (lower/optimize.cc) and after it (link/optimizer.cc).
#pragma once

#include <llvm/Passes/PassBuilder.h>
#include <llvm/TargetParser/Triple.h>

namespace llvm {
class TargetMachine;
}

namespace tutti::compiler {

// The four analysis managers, in the order their destructors need, with their proxies registered. Guest code is
// freestanding: LLVM may neither take its functions for those of the C library, nor turn code into calls of them.
struct PassManagers {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager call_graph;
  llvm::ModuleAnalysisManager modules;

  // `machine`: for the processor's costs and features; null: unknown.
  explicit PassManagers(const llvm::Triple& triple, llvm::TargetMachine* machine = nullptr);
};

// Rotates loops, which makes the body of a loop certain to run once it is entered, so that LICM may hoist its loads.
llvm::FunctionPassManager HoistLoopInvariants();

}  // namespace tutti::compiler
