// One operation removed here is 32 that are never made, and all passes see small code: the cheap place to be thorough.
// What is left out is as deliberate: nothing that duplicates or sinks code (a convergent call must keep its branches),
// no vectorisation, no unrolling (multiplied by 32 later), no tail merging, and no if-conversion: whether a branch is
// uniform, and so better kept, only widening knows.
#include "compiler/lower/optimize.h"

#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/DCE.h>
#include <llvm/Transforms/Scalar/DeadStoreElimination.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/GVN.h>
#include <llvm/Transforms/Scalar/SCCP.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include "compiler/lower/exit_comparisons.h"
#include "compiler/lower/finish.h"
#include "compiler/lower/first_zeroes.h"
#include "compiler/lower/flushes.h"
#include "compiler/lower/local_pointers.h"
#include "compiler/lower/moving_pointers.h"
#include "compiler/passes/narrow_addresses.h"
#include "compiler/passes/pass_managers.h"
#include "compiler/passes/settle_undefined.h"

namespace tutti::compiler::lowering {
namespace {

llvm::SimplifyCFGPass CleanUpBranches() {
  return llvm::SimplifyCFGPass(llvm::SimplifyCFGOptions()
                                   .speculateBlocks(false)
                                   .hoistCommonInsts(false)
                                   .sinkCommonInsts(false)
                                   .convertSwitchToLookupTable(false)
                                   .convertSwitchRangeToICmp(false)
                                   .needCanonicalLoops(true));
}

// Functions that only !tutti.functions names are called through pointers: they look dead and are not.
llvm::SmallVector<llvm::GlobalValue*, 8> CalledThroughPointers(llvm::Module& module) {
  llvm::SmallVector<llvm::GlobalValue*, 8> functions;
  const llvm::NamedMDNode* rows = module.getNamedMetadata("tutti.functions");
  if (rows == nullptr) return functions;
  for (const llvm::MDNode* row : rows->operands()) {
    functions.push_back(llvm::mdconst::extract<llvm::Function>(row->getOperand(1)));
  }
  return functions;
}

void RunPasses(llvm::Module& module) {
  PassManagers managers{llvm::Triple(module.getTargetTriple())};
  llvm::ModulePassManager all;

  // Registers are promoted before inlining, so that less is copied.
  llvm::FunctionPassManager early;
  early.addPass(FirstZeroesPass());
  early.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
  early.addPass(CleanUpBranches());  // the chains of one-instruction blocks that labels and guards left
  early.addPass(llvm::EarlyCSEPass());
  all.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(early)));
  all.addPass(llvm::AlwaysInlinerPass(/*InsertLifetimeIntrinsics=*/false));
  all.addPass(llvm::GlobalDCEPass());

  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));  // .param variables of inlined calls
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(LocalPointersPass());                             // stack addresses become GEPs of their alloca ...
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));  // ... so that most of .local memory goes away
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::SCCPPass());
  passes.addPass(FlushesPass(FlushesPass::Time::kBetween));
  passes.addPass(CleanUpBranches());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(HoistLoopInvariants());
  passes.addPass(llvm::GVNPass());
  passes.addPass(llvm::DSEPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(LocalPointersPass());  // for what only folding made visible
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
  passes.addPass(ExitComparisonsPass());
  passes.addPass(llvm::ADCEPass());
  passes.addPass(CleanUpBranches());
  passes.addPass(FlushesPass(FlushesPass::Time::kLast));
  passes.addPass(IntegerAddressesPass());
  passes.addPass(MovingPointersPass());
  passes.addPass(NarrowAddressesPass());
  passes.addPass(llvm::DCEPass());
  passes.addPass(SettleUndefinedPass());
  all.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(passes)));
  all.run(module, managers.modules);
}

}  // namespace

void Optimize(llvm::Module& module) {
  llvm::appendToCompilerUsed(module, CalledThroughPointers(module));
  RunPasses(module);
  llvm::removeFromUsedLists(module, [](llvm::Constant*) { return true; });
}

}  // namespace tutti::compiler::lowering
