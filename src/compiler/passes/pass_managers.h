// What every run of LLVM passes here needs, before widening (lower/optimize.cc) and after it (link/optimizer.cc).
#pragma once

#include <llvm/Passes/PassBuilder.h>
#include <llvm/TargetParser/Triple.h>

namespace llvm {
class TargetMachine;
}

namespace tutti::compiler {

// The four analysis managers, in the order their destructors need, with their proxies registered. Guest code is
// freestanding: none of its functions may be taken for, or calls turned into, one of the C library's.
struct PassManagers {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager call_graph;
  llvm::ModuleAnalysisManager modules;

  // `machine`: for costs and features of the processor; null: none are known.
  explicit PassManagers(const llvm::Triple& triple, llvm::TargetMachine* machine = nullptr);
};

// Rotation, which makes the body of a loop that has run once certain to run, so that LICM may take loads out of it.
llvm::FunctionPassManager HoistLoopInvariants();

}  // namespace tutti::compiler
