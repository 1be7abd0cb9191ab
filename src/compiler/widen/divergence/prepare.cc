#include "compiler/widen/divergence/prepare.h"

#include <llvm/Analysis/CycleAnalysis.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/IR/ConstantRange.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/ValueHandle.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/FixIrreducible.h>
#include <llvm/Transforms/Utils/LCSSA.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Utils/LowerSwitch.h>
#include <llvm/Transforms/Utils/UnifyFunctionExitNodes.h>

#include "compiler/contract/intrinsics.h"
#include "compiler/passes/narrow_addresses.h"
#include "compiler/passes/pass_managers.h"
#include "compiler/widen/analysis/intrinsics.h"
#include "compiler/widen/divergence/exits.h"
#include "compiler/widen/divergence/spin_loops.h"
#include "compiler/widen/divergence/spinning_calls.h"

namespace tutti::compiler {
namespace {

// Replaces tutti.ntid.* by the extents, and bounds tutti.tid.* by them. True if there were any.
bool FixBlockShape(llvm::Module& module, const WidenOptions& options) {
  if (options.block[0] == 0) return false;
  static constexpr IntrinsicName kIndex[] = {"tutti.tid.x", "tutti.tid.y", "tutti.tid.z"};
  static constexpr IntrinsicName kExtent[] = {"tutti.ntid.x", "tutti.ntid.y", "tutti.ntid.z"};
  bool changed = false;
  for (unsigned axis = 0; axis < 3; ++axis) {
    if (llvm::Function* index = module.getFunction(kIndex[axis].get())) {
      index->removeRetAttr(llvm::Attribute::Range);
      index->addRangeRetAttr(llvm::ConstantRange(llvm::APInt(32, 0), llvm::APInt(32, options.block[axis])));
      changed = true;
    }
    llvm::Function* function = module.getFunction(kExtent[axis].get());
    if (function == nullptr) continue;
    for (llvm::User* user : llvm::make_early_inc_range(function->users())) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(user);
      if (call == nullptr) continue;
      call->replaceAllUsesWith(llvm::ConstantInt::get(call->getType(), options.block[axis]));
      call->eraseFromParent();
      changed = true;
    }
  }
  return changed;
}

bool HasIrreducibleLoop(llvm::Function& function) {
  llvm::CycleInfo cycles;
  cycles.compute(function);
  const auto irreducible = [](const auto& self, const llvm::Cycle& cycle) -> bool {
    return !cycle.isReducible() ||
           llvm::any_of(cycle.children(), [&](const llvm::Cycle* child) { return self(self, *child); });
  };
  return llvm::any_of(cycles.toplevel_cycles(),
                      [&](const llvm::Cycle* cycle) { return irreducible(irreducible, *cycle); });
}

// LLVM 19's FixIrreducible makes wrong phis in a block that is both an entry of the loop and its own successor. Without
// phis it cannot; SROA brings them back.
void DemotePhis(llvm::Function& function) {
  std::vector<llvm::PHINode*> phis;
  for (llvm::BasicBlock& block : function) {
    for (llvm::PHINode& phi : block.phis()) phis.push_back(&phi);
  }
  for (llvm::PHINode* phi : phis) llvm::DemotePHIToStack(phi);
}

// Other lanes take a lane that goes to the return for ended, so work before it must be in another block.
void PutReturnByItself(llvm::Function& function) {
  for (llvm::BasicBlock& block : function) {
    if (!llvm::isa<llvm::ReturnInst>(block.getTerminator())) continue;
    if (&block.front() != block.getTerminator()) llvm::SplitBlock(&block, block.getTerminator());
    return;
  }
}

// LLVM gives each loop exits of its own, so that lanes that leave it for the return come to a block of nothing first.
// There they have not ended for others yet, and early_ends.h would make a copy of it for each way out of the loop: a
// block to be tested, and a mask of lanes to be kept, for each of them at each of these tests.
void JumpToReturn(llvm::Function& function) {
  for (llvm::BasicBlock& block : llvm::make_early_inc_range(function)) {
    auto* jump = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
    if (jump == nullptr || jump->isConditional() || &block.front() != jump || block.isEntryBlock()) continue;
    llvm::BasicBlock* end = jump->getSuccessor(0);
    if (!llvm::isa<llvm::ReturnInst>(end->front())) continue;
    block.replaceAllUsesWith(end);
    block.eraseFromParent();
  }
}

// A register holds no lane's 128 bits: two words are loaded and stored. Lowering writes it so, and optimisation joins
// them.
void SplitWideAccesses(llvm::Function& function) {
  llvm::Type* words = llvm::FixedVectorType::get(llvm::Type::getInt64Ty(function.getContext()), 2);
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    if (!llvm::isa<llvm::LoadInst, llvm::StoreInst>(instruction) ||
        !llvm::getLoadStoreType(&instruction)->isIntegerTy(128))
      continue;
    llvm::IRBuilder<> builder(&instruction);
    llvm::Instruction* made = nullptr;
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction); load != nullptr && !load->isAtomic()) {
      made = builder.CreateAlignedLoad(words, load->getPointerOperand(), load->getAlign(), load->isVolatile());
      load->replaceAllUsesWith(builder.CreateBitCast(made, load->getType()));
    } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction); store != nullptr && !store->isAtomic()) {
      made = builder.CreateAlignedStore(builder.CreateBitCast(store->getValueOperand(), words),
                                        store->getPointerOperand(), store->getAlign(), store->isVolatile());
    }
    if (made == nullptr) continue;
    made->copyMetadata(instruction);
    instruction.eraseFromParent();
  }
}

Status FindUnsupported(llvm::Module& module) {
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (llvm::isa<llvm::IndirectBrInst, llvm::CallBrInst, llvm::InvokeInst>(instruction))
        return Fail("cannot widen an indirect branch in " + function.getName().str());
      const auto* alloca = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
      if (alloca != nullptr && !alloca->isStaticAlloca())
        return Fail("cannot widen a dynamic alloca in " + function.getName().str());
    }
  }
  return {};
}

// A lock that a function takes and its caller holds must be in one function: turns.h.
void InlineWhatSpins(llvm::Module& module) {
  const auto calls = [](const llvm::Function& from, const llvm::Function& to) {
    return llvm::any_of(llvm::instructions(from), [&](const llvm::Instruction& instruction) {
      const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      return call != nullptr && call->getCalledFunction() == &to;
    });
  };
  llvm::SmallPtrSet<const llvm::Function*, 8> called_by_address;
  if (const llvm::NamedMDNode* table = module.getNamedMetadata("tutti.functions")) {
    for (const llvm::MDNode* row : table->operands())
      called_by_address.insert(llvm::mdconst::dyn_extract_or_null<llvm::Function>(row->getOperand(1)));
  }
  std::vector<llvm::Function*> spinning;
  const auto add = [&](llvm::Function& function) {
    if (function.isDeclaration() || !function.hasFnAttribute(llvm::Attribute::NoInline) ||
        called_by_address.contains(&function))
      return;
    if (calls(function, function)) return;
    function.removeFnAttr(llvm::Attribute::NoInline);
    function.addFnAttr(llvm::Attribute::AlwaysInline);
    spinning.push_back(&function);
  };
  for (llvm::Function& function : module) {
    if (!function.isDeclaration() && MaySpin(function)) add(function);
  }
  for (size_t i = 0; i < spinning.size(); ++i) {
    for (llvm::Function& caller : module) {
      if (calls(caller, *spinning[i])) add(caller);
    }
  }
}

// LLVM drops the place in the source of one of two equal loads that it makes one: metadata that it does not know. A
// fault would have no line.
class SourcePlaces {
 public:
  explicit SourcePlaces(llvm::Function& function) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (llvm::MDNode* place = instruction.getMetadata(kPlace)) places_.emplace_back(&instruction, place);
    }
  }
  void Restore() {
    for (const auto& [value, place] : places_) {
      auto* instruction = llvm::dyn_cast_or_null<llvm::Instruction>(value);
      if (instruction != nullptr && instruction->getMetadata(kPlace) == nullptr)
        instruction->setMetadata(kPlace, place);
    }
  }

 private:
  static constexpr const char* kPlace = "tutti.loc";
  std::vector<std::pair<llvm::WeakVH, llvm::MDNode*>> places_;
};

}  // namespace

void MakeCanonical(llvm::Function& function) {
  PassManagers managers(llvm::Triple(function.getParent()->getTargetTriple()));
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::LowerSwitchPass());
  passes.addPass(llvm::LoopSimplifyPass());
  passes.addPass(llvm::LCSSAPass());
  passes.run(function, managers.functions);
  if (llvm::any_of(function, WaitsForLanes)) JumpToReturn(function);
}

Status PrepareForWidening(llvm::Module& module, const WidenOptions& options) {
  llvm::Function* kernel = module.getFunction("tutti.kernel");
  if (kernel == nullptr || kernel->isDeclaration()) return Fail("the module has no function tutti.kernel");

  PassManagers managers(llvm::Triple(module.getTargetTriple()));
  auto& functions = managers.functions;

  const bool fixed = FixBlockShape(module, options);
  InlineWhatSpins(module);
  llvm::ModulePassManager inliner;
  inliner.addPass(llvm::AlwaysInlinerPass(/*InsertLifetimeIntrinsics=*/false));
  inliner.run(module, managers.modules);
  MergeWhatSpins(*kernel);
  ExitByReturning(module);
  TUTTI_TRY(FindUnsupported(module));

  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
  if (fixed) {
    passes.addPass(llvm::InstCombinePass(llvm::InstCombineOptions().setMaxIterations(1)));
    passes.addPass(NarrowAddressesPass());
    passes.addPass(llvm::EarlyCSEPass());
    passes.addPass(llvm::SimplifyCFGPass());
  }
  passes.addPass(llvm::UnifyFunctionExitNodesPass());
  passes.addPass(llvm::LowerSwitchPass());
  llvm::FunctionPassManager irreducible;
  irreducible.addPass(llvm::FixIrreduciblePass());
  irreducible.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
  llvm::FunctionPassManager canonical;
  canonical.addPass(llvm::LoopSimplifyPass());
  canonical.addPass(llvm::LCSSAPass());
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    llvm::removeUnreachableBlocks(function);
    llvm::EliminateUnreachableBlocks(function);
    functions.clear();
    SourcePlaces places(function);
    passes.run(function, functions);
    places.Restore();
    llvm::EliminateUnreachableBlocks(function);
    functions.clear();
    if (HasIrreducibleLoop(function)) {
      DemotePhis(function);
      irreducible.run(function, functions);
      functions.clear();
    }
    const bool waits = llvm::any_of(function, WaitsForLanes);
    if (waits) {
      PutReturnByItself(function);
      functions.clear();
    }
    SplitWideAccesses(function);
    canonical.run(function, functions);
    if (waits) {
      JumpToReturn(function);
      functions.clear();
    }
    MarkSpinLoops(function, functions.getResult<llvm::LoopAnalysis>(function),
                  functions.getResult<llvm::DominatorTreeAnalysis>(function),
                  functions.getResult<llvm::PostDominatorTreeAnalysis>(function));
    if (llvm::verifyFunction(function))
      return Fail("LLVM made invalid code of " + function.getName().str() + " before widening");
  }
  return {};
}

}  // namespace tutti::compiler
