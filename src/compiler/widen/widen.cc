#include "compiler/widen/widen.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include "compiler/contract/kernel_attributes.h"
#include "compiler/widen/analysis/block_waits.h"
#include "compiler/widen/analysis/intrinsics.h"
#include "compiler/widen/analysis/local_frame.h"
#include "compiler/widen/control/calls.h"
#include "compiler/widen/divergence/prepare.h"
#include "compiler/widen/divergence/separation.h"
#include "compiler/widen/divergence/spin_loops.h"
#include "compiler/widen/emit/function_emitter.h"
#include "compiler/widen/emit/kernel_descriptor.h"
#include "compiler/widen/emit/module_state.h"
#include "compiler/widen/lanes/lane_functions.h"
#include "compiler/widen/memory/interleaved_locals.h"

namespace tutti::compiler {
namespace {

// The emitter's slots become SSA values.
void PromoteSlots(llvm::Function& function) {
  std::vector<llvm::AllocaInst*> slots;
  for (llvm::Instruction& instruction : function.getEntryBlock()) {
    auto* slot = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (slot != nullptr && llvm::isAllocaPromotable(slot)) slots.push_back(slot);
  }
  llvm::DominatorTree dominators(function);
  if (!slots.empty()) llvm::PromoteMemToReg(slots, dominators);
}

Status WidenFunction(llvm::Function& scalar, llvm::Function& wide, ModuleState& state) {
  llvm::DominatorTree dominators(scalar);
  llvm::LoopInfo loops(dominators);
  Schedule schedule(scalar, loops);
  const ShapeAnalysis shapes(scalar, state.block, state.frame_bytes, schedule);
  FunctionEmitter emitter(scalar, wide, state, shapes, schedule);
  TUTTI_TRY(emitter.Emit());
  PromoteSlots(wide);
  return {};
}

llvm::Function* Declare(llvm::Module& module, llvm::FunctionType* type, const llvm::Twine& name) {
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, module);
  function->setDoesNotThrow();
  function->addFnAttr("min-legal-vector-width", "512");
  // address 0 of a client's address space may be valid
  function->addFnAttr(llvm::Attribute::NullPointerIsValid);
  return function;
}

// Warps that run one after the other share what they read of their block: the warp's code is inlined into the loop over
// all warps, and what depends on the block alone moves out of the loop.
llvm::Function* DeclareKernel(llvm::Module& module, bool may_wait_unseen) {
  llvm::SmallVector<llvm::Type*, 2> parameters{llvm::PointerType::get(module.getContext(), 0)};
  const bool yields = MayYield(module);
  if (!yields) parameters.push_back(parameters[0]);
  llvm::Function* kernel = Declare(
      module, llvm::FunctionType::get(llvm::Type::getVoidTy(module.getContext()), parameters, false), "tutti.warp");
  if (!yields) kernel->addFnAttr(llvm::Attribute::AlwaysInline);
  if (may_wait_unseen) kernel->addFnAttr(kOneAfterTheOther);
  return kernel;
}

}  // namespace

Status Widen(llvm::Module& module, const WidenOptions& options) {
  TUTTI_TRY(PrepareForWidening(module, options));
  ModuleState state(module, options);
  state.may_wait_for_blocks = MayWaitForBlocks(module);
  const bool may_wait_unseen = MayWaitUnseen(module);
  InterleaveLocals(*module.getFunction("tutti.kernel"));

  std::vector<llvm::Function*> scalars;
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) scalars.push_back(&function);
  }
  state.stack_bytes = StackBytes(module);
  state.frame_bytes = FrameBytes(scalars, state.stack_bytes);
  state.interleaved_bytes = LocalFrame(*module.getFunction("tutti.kernel")).interleaved_bytes() / kLanes;
  for (llvm::Function* scalar : scalars) TUTTI_TRY(SeparateLanes(*scalar, state));
  state.frame_bytes = FrameBytes(scalars, state.stack_bytes);  // taking turns may have moved variables there

  std::vector<llvm::Function*> lane_functions;
  for (llvm::Function* scalar : scalars) {
    for (llvm::Function* made : OutlineLaneRegions(*scalar, state)) lane_functions.push_back(made);
  }

  TUTTI_TRY(CheckLocalMemory(state));

  llvm::Function* kernel = nullptr;
  for (llvm::Function* scalar : scalars) {
    if (scalar->getName() == "tutti.kernel") {
      kernel = DeclareKernel(module, may_wait_unseen);
    } else {
      state.wide[scalar] = Declare(module, WideFunctionType(*scalar), "warp." + scalar->getName());
    }
  }
  for (llvm::Function* scalar : scalars) {
    llvm::Function* wide = state.wide.lookup(scalar);
    TUTTI_TRY(WidenFunction(*scalar, wide != nullptr ? *wide : *kernel, state));
  }
  EmitKernelDescriptor(state, *kernel);

  if (llvm::NamedMDNode* table = module.getNamedMetadata("tutti.functions")) table->eraseFromParent();
  for (llvm::Function* scalar : scalars) scalar->dropAllReferences();
  for (llvm::Function* scalar : scalars) scalar->eraseFromParent();
  for (llvm::Function* made : lane_functions) made->eraseFromParent();
  for (llvm::Function& function : llvm::make_early_inc_range(module)) {
    if (function.isDeclaration() && function.use_empty()) function.eraseFromParent();
  }
  return {};
}

}  // namespace tutti::compiler
