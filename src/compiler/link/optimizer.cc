#include "compiler/link/optimizer.h"

#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/GVN.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <string>

#include "compiler/link/block_loop.h"
#include "compiler/link/constants_last.h"
#include "compiler/link/first_lanes.h"
#include "compiler/link/flush_instructions.h"
#include "compiler/link/lockstep.h"
#include "compiler/link/promote_halves.h"
#include "compiler/link/quiet_rounds.h"
#include "compiler/link/rare_paths.h"
#include "compiler/link/shared_conditions.h"
#include "compiler/link/sink_rare.h"
#include "compiler/link/sums_in_place.h"
#include "compiler/link/wide_joins.h"
#include "compiler/passes/pass_managers.h"

namespace tutti::compiler {
namespace {

// Passes that give good code its final form: nothing may hoist or merge after them.
void Finish(llvm::Module& module, llvm::TargetMachine& machine) {
  const bool cut = RunInLockstep(module);
  PassManagers managers(machine.getTargetTriple(), &machine);
  llvm::FunctionPassManager passes;
  if (cut) {
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
    passes.addPass(llvm::InstCombinePass(llvm::InstCombineOptions().setMaxIterations(1)));
    passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
    passes.addPass(HoistLoopInvariants());
    passes.addPass(llvm::ADCEPass());
    passes.addPass(llvm::SimplifyCFGPass());
  }
  passes.addPass(BlockLoopPass());
  passes.addPass(FirstLanesPass());
  const llvm::StringRef features = machine.getTargetFeatureString();
  if (!features.contains("+avx512fp16")) passes.addPass(PromoteHalvesPass());
  if (features.contains("+avx512dq")) passes.addPass(FlushInstructionsPass(features.contains("+avx512bf16")));
  passes.addPass(SinkRarePass());
  passes.addPass(SplitWideJoinsPass());
  llvm::ModulePassManager all;
  all.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(passes)));
  all.run(module, managers.modules);
  KeepRarePathsApart(module);
}

}  // namespace

void OptimizeWide(llvm::Module& module, llvm::TargetMachine& machine, uint32_t optimize) {
  PassManagers managers(machine.getTargetTriple(), &machine);
  if (optimize > 1) KeepWarpsThatTakeTurns(module);
  llvm::ModulePassManager all;
  all.addPass(llvm::AlwaysInlinerPass(/*InsertLifetimeIntrinsics=*/false));
  all.addPass(llvm::GlobalDCEPass());
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
  if (optimize > 1) passes.addPass(QuietRoundsPass());
  if (optimize > 0) {
    passes.addPass(SplitConditionsPass());
    passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
    passes.addPass(HoistLoopInvariants());
    passes.addPass(llvm::InstCombinePass(llvm::InstCombineOptions().setMaxIterations(1)));
    passes.addPass(llvm::SimplifyCFGPass(llvm::SimplifyCFGOptions().hoistCommonInsts(false)));
    passes.addPass(HoistLoopInvariants());
  }
  if (optimize > 1) {
    passes.addPass(ConstantsLastPass());
    // Redundancy with a cold path only is none, and PRE's phi would hide from a gather how its index is computed.
    passes.addPass(llvm::GVNPass(llvm::GVNOptions().setPRE(false)));
  }
  if (optimize > 0) passes.addPass(JoinConditionsPass());
  if (optimize > 1) {
    passes.addPass(llvm::InstCombinePass(llvm::InstCombineOptions().setMaxIterations(1)));
  }
  if (optimize > 0) {
    passes.addPass(llvm::ADCEPass());
    passes.addPass(llvm::SimplifyCFGPass());
  }
  all.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(passes)));
  all.run(module, managers.modules);
  if (optimize > 1) KeepSumsInPlace(module);
  if (optimize > 0) Finish(module, machine);
}

Status VerifyModule(const llvm::Module& module, const char* stage) {
  std::string text;
  llvm::raw_string_ostream out(text);
  if (!llvm::verifyModule(module, &out)) return {};
  return Fail(std::string(stage) + " made invalid LLVM IR: " + text);
}

}  // namespace tutti::compiler
