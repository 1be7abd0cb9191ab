#include "compiler/passes/pass_managers.h"

#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopRotation.h>

namespace tutti::compiler {

PassManagers::PassManagers(const llvm::Triple& triple, llvm::TargetMachine* machine) {
  llvm::PassBuilder builder(machine);
  llvm::TargetLibraryInfoImpl no_library(triple);
  no_library.disableAllFunctions();
  functions.registerPass([no_library] { return llvm::TargetLibraryAnalysis(no_library); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(call_graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, call_graph, modules);
}

llvm::FunctionPassManager HoistLoopInvariants() {
  llvm::LoopPassManager loops;
  loops.addPass(llvm::LoopRotatePass(/*EnableHeaderDuplication=*/true));
  loops.addPass(llvm::LICMPass(llvm::LICMOptions()));
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loops), /*UseMemorySSA=*/true));
  return passes;
}

}  // namespace tutti::compiler
