#include "compiler/threads/threads.h"

#include <llvm/Analysis/PostDominators.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/IR/ConstantRange.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>

#include "compiler/passes/pass_managers.h"
#include "compiler/passes/settle_undefined.h"
#include "compiler/runtime/thread_state.h"
#include "compiler/threads/cuts.h"
#include "compiler/threads/matrix_rows.h"
#include "compiler/threads/renewal.h"
#include "compiler/threads/suited.h"
#include "compiler/threads/thread_access.h"
#include "compiler/threads/thread_calls.h"
#include "compiler/threads/thread_emitter.h"
#include "compiler/threads/together.h"
#include "compiler/widen/analysis/intrinsics.h"
#include "compiler/widen/divergence/spin_loops.h"
#include "compiler/widen/emit/kernel_descriptor.h"
#include "cuda/result.h"

namespace tutti::compiler {
namespace {

constexpr uint64_t kMostStackBytes =
    900 << 10;  // of a warp's stack, of 1 MiB at most (widen/emit/kernel_descriptor.cc)

std::unexpected<Error> NotSuited(const std::string& why) {
  return Fail(cuda::CUDA_ERROR_NOT_SUPPORTED, "it cannot be run a thread at a time: " + why);
}

// For what bounds the rounds of loops.
void SayWhatIndicesAre(llvm::Module& module, const ThreadOptions& options) {
  const auto say = [&](IntrinsicName name, uint32_t end) {
    llvm::Function* function = module.getFunction(name.get());
    if (function == nullptr || end == 0) return;
    function->removeRetAttr(llvm::Attribute::Range);
    function->addRangeRetAttr(llvm::ConstantRange(llvm::APInt(32, 0), llvm::APInt(32, end)));
  };
  say("tutti.laneid", guest::kWarpSize);
  say("tutti.tid.x", options.block[0]);
  say("tutti.tid.y", options.block[1]);
  say("tutti.tid.z", options.block[2]);
}

// One function without calls, whose loops that wait yield. Returns how its blocks begin anew, if they may have to.
Result<Renewal> Prepare(llvm::Module& module, llvm::Function& kernel, const ThreadOptions& options) {
  PassManagers managers{llvm::Triple(module.getTargetTriple())};
  SayWhatIndicesAre(module, options);
  llvm::AlwaysInlinerPass(/*InsertLifetimeIntrinsics=*/false).run(module, managers.modules);
  if (const std::string obstacle = ObstacleInKernel(kernel); !obstacle.empty()) return NotSuited(obstacle);
  ExpandMatrixRows(kernel);
  llvm::removeUnreachableBlocks(kernel);
  managers.functions.clear();
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
  passes.addPass(llvm::LoopSimplifyPass());
  passes.addPass(SettleUndefinedPass());  // SROA makes some of what was never written
  passes.run(kernel, managers.functions);
  if (HasLoopOfSeveralEntries(kernel, managers.functions.getResult<llvm::LoopAnalysis>(kernel)))
    return NotSuited("it has a loop of several entries");
  MarkSpinLoops(kernel, managers.functions.getResult<llvm::LoopAnalysis>(kernel),
                managers.functions.getResult<llvm::DominatorTreeAnalysis>(kernel),
                managers.functions.getResult<llvm::PostDominatorTreeAnalysis>(kernel));
  managers.functions.clear();  // yields have blocks of their own
  const LoopAnalyses analyses{.loops = managers.functions.getResult<llvm::LoopAnalysis>(kernel),
                              .dominators = managers.functions.getResult<llvm::DominatorTreeAnalysis>(kernel),
                              .post_dominators = managers.functions.getResult<llvm::PostDominatorTreeAnalysis>(kernel),
                              .evolution = managers.functions.getResult<llvm::ScalarEvolutionAnalysis>(kernel)};
  const bool ends_soon = ObstacleInLoops(kernel, analyses, [](const llvm::BasicBlock*) { return true; }).empty();
  if (ends_soon && !options.renews_all) return Renewal();
  const auto behind = BlocksBehindWrites(kernel);
  const std::string obstacle =
      ObstacleInLoops(kernel, analyses, [&](const llvm::BasicBlock* block) { return behind.contains(block); });
  if (!obstacle.empty() && !options.any_loop) return NotSuited(obstacle);
  return FindRenewal(kernel, analyses.loops);
}

// void(ThreadWarp*, ThreadState*), with the kernel's code, which the kernel loses.
llvm::Function& MoveCode(llvm::Module& module, llvm::Function& kernel) {
  llvm::Type* pointer = llvm::PointerType::get(module.getContext(), 0);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(module.getContext()), {pointer, pointer}, false);
  auto* thread = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, "tutti.thread", module);
  thread->setDoesNotThrow();
  thread->addFnAttr(llvm::Attribute::NullPointerIsValid);
  thread->splice(thread->begin(), &kernel);
  return *thread;
}

void EmitThread(ThreadEmitter& emitter, llvm::ArrayRef<llvm::Instruction*> accesses,
                llvm::ArrayRef<llvm::CallInst*> calls) {
  for (llvm::Instruction* access : accesses) EmitThreadAccess(emitter, *access);
  for (llvm::CallInst* call : calls) EmitThreadCall(emitter, *call);
}

// void(WarpState*): lets the warp's threads take turns.
llvm::Function& EmitWarp(ModuleState& state, llvm::Function& thread, uint64_t state_bytes) {
  llvm::LLVMContext& context = state.module.getContext();
  llvm::IRBuilder<> builder(context);
  auto* warp = llvm::Function::Create(llvm::FunctionType::get(builder.getVoidTy(), {builder.getPtrTy()}, false),
                                      llvm::GlobalValue::InternalLinkage, "tutti.warp", state.module);
  warp->setDoesNotThrow();
  warp->addFnAttr(llvm::Attribute::NullPointerIsValid);
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "", warp));
  llvm::AllocaInst* states =
      builder.CreateAlloca(llvm::ArrayType::get(builder.getInt8Ty(), state_bytes * guest::kWarpSize));
  states->setAlignment(llvm::Align(16));
  auto run = state.Runtime("tutti_support_run_threads", builder.getVoidTy(),
                           {builder.getPtrTy(), builder.getPtrTy(), builder.getPtrTy(), builder.getInt32Ty()});
  builder.CreateCall(run, {warp->getArg(0), &thread, states, builder.getInt32(static_cast<uint32_t>(state_bytes))});
  builder.CreateRetVoid();
  return *warp;
}

// At most, if LLVM's quick generator spills every value; each has a place of its own.
uint64_t SpilledBytes(const llvm::Function& thread) {
  const llvm::DataLayout& layout = thread.getParent()->getDataLayout();
  uint64_t bytes = 0;
  for (const llvm::Instruction& instruction : llvm::instructions(thread)) {
    if (!instruction.getType()->isVoidTy())
      bytes += llvm::alignTo(layout.getTypeAllocSize(instruction.getType()).getFixedValue(), 8);
  }
  return bytes;
}

}  // namespace

Status CheckForThreads(const llvm::Module& module, const ThreadOptions& options) {
  const std::string obstacle = ObstacleIn(module, options.least_instructions);
  return obstacle.empty() ? Status() : NotSuited(obstacle);
}

Status MakeThreads(llvm::Module& module, const ThreadOptions& options) {
  llvm::Function* kernel = module.getFunction("tutti.kernel");
  if (kernel == nullptr || kernel->isDeclaration()) return Fail("the module has no function tutti.kernel");
  TUTTI_ASSIGN(const Renewal renewal, Prepare(module, *kernel, options));

  const WidenOptions descriptor{.name = options.name, .block = {options.block[0], options.block[1], options.block[2]}};
  ModuleState state(module, descriptor);
  state.stack_bytes = StackBytes(module);
  state.frame_bytes = FrameBytes({kernel}, state.stack_bytes);
  state.flags = guest::kEndsLanes;
  TUTTI_TRY(CheckLocalMemory(state));
  const LocalFrame frame(*kernel);

  llvm::SmallVector<llvm::Instruction*, 64> accesses;
  llvm::SmallVector<llvm::CallInst*, 64> calls;
  for (llvm::Instruction& instruction : llvm::instructions(*kernel)) {
    if (IsAccess(instruction)) accesses.push_back(&instruction);
    if (llvm::isa<llvm::CallInst>(instruction) && !IsStop(instruction))
      calls.push_back(llvm::cast<llvm::CallInst>(&instruction));
  }
  const llvm::SmallVector<llvm::Instruction*, 16> together = FindTogether(*kernel);
  llvm::Function& thread = MoveCode(module, *kernel);
  ThreadEmitter emitter(thread, state, frame, options.has_fma);
  Cuts cuts(emitter, thread);
  for (llvm::Instruction* end : renewal.rounds) EmitLookForNewerCode(emitter, *end);
  cuts.Cut(together, renewal.writes);
  EmitThread(emitter, accesses, calls);
  const uint64_t state_bytes = cuts.Finish();
  state.runtime_stack_bytes = state_bytes * guest::kWarpSize + SpilledBytes(thread);
  if (state.runtime_stack_bytes > kMostStackBytes) return NotSuited("its threads keep too much");
  EmitKernelDescriptor(state, EmitWarp(state, thread, state_bytes));

  if (llvm::NamedMDNode* table = module.getNamedMetadata("tutti.functions")) table->eraseFromParent();
  for (llvm::Function& function : llvm::make_early_inc_range(module)) {
    if (&function == kernel || (function.isDeclaration() && function.use_empty())) function.eraseFromParent();
  }
  return {};
}

}  // namespace tutti::compiler
