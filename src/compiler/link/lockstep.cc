#include "compiler/link/lockstep.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/Local.h>

#include <algorithm>
#include <optional>

#include "compiler/contract/kernel_attributes.h"
#include "compiler/link/block_values.h"
#include "compiler/link/column_walks.h"
#include "compiler/link/descriptor_fields.h"
#include "compiler/link/frame_cut.h"
#include "compiler/link/rounds.h"
#include "guest/cpu/kernel_abi.h"

namespace tutti::compiler {
namespace {

using guest::BarrierMode;
using guest::GuestServices;
using guest::KernelDescriptor;
using guest::WarpState;

// Of one warp: beyond that a stack per warp is no worse. Values are copied at each cut, variables are where they are.
constexpr uint64_t kMaxFrameBytes = 16 << 10, kMaxKeptBytes = 8 << 10;
// Of one warp and of all, where warps take turns for the caches' sake: they stay there.
constexpr uint64_t kMaxTurnBytes = 1 << 10, kMaxTurnsBytes = 16 << 10;

// The offset in GuestServices of the service that `call` calls; nothing for other calls.
std::optional<uint64_t> ServiceOf(const llvm::CallInst& call) {
  const llvm::MDNode* mark = call.getMetadata("tutti.service");
  if (mark == nullptr) return std::nullopt;
  return llvm::mdconst::extract<llvm::ConstantInt>(mark->getOperand(0))->getZExtValue();
}

bool Waits(uint64_t service) {
  return service == offsetof(GuestServices, barrier) || service == offsetof(GuestServices, barrier_reduce) ||
         service == offsetof(GuestServices, yield) || service == offsetof(GuestServices, cluster_barrier) ||
         service == offsetof(GuestServices, warp_group_barrier) || service == offsetof(GuestServices, grid_barrier) ||
         service == offsetof(GuestServices, barrier_enter) || service == offsetof(GuestServices, barrier_pass);
}

bool IsConstant(const llvm::Value* value, uint64_t expected) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value);
  return constant != nullptr && constant->getZExtValue() == expected;
}

// All lanes of the warp: a constant mask, or the one in the warp's state when it began.
bool IsWholeWarp(const llvm::Value* mask, const llvm::Function& warp) {
  if (IsConstant(mask, ~0u)) return true;
  const auto* load = llvm::dyn_cast<llvm::LoadInst>(mask);
  if (load == nullptr || load->getParent() != &warp.getEntryBlock()) return false;
  llvm::APInt offset(64, 0);
  const llvm::Value* base =
      load->getPointerOperand()->stripAndAccumulateConstantOffsets(warp.getDataLayout(), offset, true);
  return base == warp.getArg(0) && offset == offsetof(WarpState, lanes);
}

bool IsMode(const llvm::CallInst& barrier, BarrierMode mode) {
  return IsConstant(barrier.getArgOperand(4), static_cast<uint64_t>(mode));
}

// All lanes of the warp wait for the whole block.
bool IsBlockBarrier(const llvm::CallInst& call, const llvm::Function& warp, uint32_t threads) {
  if (ServiceOf(call) != offsetof(GuestServices, barrier)) return false;
  const bool whole_block =
      IsConstant(call.getArgOperand(3), 0) || (threads != 0 && IsConstant(call.getArgOperand(3), threads));
  return IsWholeWarp(call.getArgOperand(1), warp) && whole_block &&
         (IsMode(call, BarrierMode::kArriveAndWait) || IsMode(call, BarrierMode::kArriveAndWaitDown));
}

// The barriers of `warp`; nothing if the kernel also waits in a way that rounds of all warps do not implement.
std::optional<llvm::SmallVector<llvm::CallInst*, 8>> FindBarriers(llvm::Function& warp, uint32_t threads) {
  llvm::SmallVector<llvm::CallInst*, 8> barriers;
  for (llvm::Function& function : *warp.getParent()) {
    if (function.getName().starts_with("tutti_")) continue;  // the guest runtime never waits
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (call == nullptr) continue;
      const auto service = ServiceOf(*call);
      if (!service && call->getCalledFunction() == nullptr && !call->isInlineAsm()) return std::nullopt;
      if (!service || !Waits(*service)) continue;
      if (&function != &warp || !IsBlockBarrier(*call, warp, threads)) return std::nullopt;
      barriers.push_back(call);
    }
  }
  return barriers;
}

// What is known when the block begins is computed in run's first block, and handed to each step.
class BlockPrologue {
 public:
  BlockPrologue(llvm::Function& warp, llvm::Function& run) : builder_(&run.getEntryBlock()) {
    copies_[warp.getArg(0)] = run.getArg(0);  // all warps are of one block
  }

  llvm::Value* Copy(llvm::Value* value) {
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    const auto found = copies_.find(value);
    if (found != copies_.end()) return found->second;
    if (instruction == nullptr) return value;
    llvm::Instruction* copy = instruction->clone();
    for (llvm::Use& operand : copy->operands()) operand.set(Copy(operand.get()));
    copy->setDebugLoc(llvm::DebugLoc());
    builder_.Insert(copy, instruction->getName());
    return copies_[value] = copy;
  }

 private:
  llvm::IRBuilder<> builder_;
  llvm::DenseMap<llvm::Value*, llvm::Value*> copies_;
};

// The values that a step is given: what is known when the block begins, as far as other code uses it, and room for
// variables that no warp needs behind a barrier.
llvm::SmallVector<llvm::Instruction*, 16> ValuesOfBlock(llvm::Function& warp, BlockValues& values) {
  llvm::SmallVector<llvm::Instruction*, 16> given;
  for (llvm::Instruction& instruction : llvm::instructions(warp)) {
    const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    const bool is_room = variable != nullptr && variable->isStaticAlloca() && !FrameCut::IsKept(*variable);
    const bool is_used = values.IsOfBlock(instruction) &&
                         llvm::any_of(instruction.users(), [&](llvm::User* user) { return !values.IsOfBlock(*user); });
    if (is_room || is_used) given.push_back(&instruction);
  }
  return given;
}

void EraseUnused(llvm::Function& function) {
  llvm::SmallVector<llvm::WeakTrackingVH, 64> unused;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (llvm::isInstructionTriviallyDead(&instruction)) unused.push_back(&instruction);
  }
  llvm::RecursivelyDeleteTriviallyDeadInstructions(unused);
}

// A step without cuts, with the body of `warp`; empties `run`.
Step MakeStep(llvm::Function& warp, llvm::Function& run, BlockValues& values) {
  llvm::Type* i32 = llvm::Type::getInt32Ty(warp.getContext());
  llvm::Type* pointer = warp.getArg(0)->getType();
  const auto given = ValuesOfBlock(warp, values);
  llvm::SmallVector<llvm::Type*, 24> types = {pointer, i32, pointer, pointer, pointer, i32};
  for (const llvm::Instruction* value : given) types.push_back(value->getType());

  Step made;
  llvm::Function*& step = made.function;
  step = llvm::Function::Create(llvm::FunctionType::get(i32, types, false), llvm::GlobalValue::InternalLinkage,
                                "tutti.step", *warp.getParent());
  step->setAttributes(step->getAttributes().addFnAttributes(
      warp.getContext(), llvm::AttrBuilder(warp.getContext(), warp.getAttributes().getFnAttrs())));
  step->setCallingConv(warp.getCallingConv());
  step->setSubprogram(warp.getSubprogram());
  warp.setSubprogram(nullptr);

  run.deleteBody();
  run.setLinkage(llvm::GlobalValue::InternalLinkage);
  llvm::BasicBlock::Create(run.getContext(), "", &run);
  BlockPrologue prologue(warp, run);
  for (llvm::Instruction* value : given) made.values.push_back(prologue.Copy(value));
  for (unsigned i = 0; i < given.size(); ++i) given[i]->replaceAllUsesWith(step->getArg(Step::kValues + i));
  for (llvm::Instruction& instruction : llvm::instructions(warp)) {
    if (BlockValues::IsWarpNumber(instruction)) instruction.replaceAllUsesWith(step->getArg(Step::kNumber));
  }
  EraseUnused(warp);

  step->splice(step->begin(), &warp);
  warp.getArg(0)->replaceAllUsesWith(step->getArg(Step::kWarp));
  for (llvm::BasicBlock& block : *step) {
    auto* end = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator());
    if (end == nullptr) continue;
    llvm::ReturnInst::Create(warp.getContext(), llvm::ConstantInt::get(i32, Step::kEnded), end->getIterator());
    end->eraseFromParent();
  }
  return made;
}

// One warp has nobody to wait for.
void EraseBarriers(llvm::ArrayRef<llvm::CallInst*> barriers) {
  for (llvm::CallInst* barrier : barriers) {
    llvm::IRBuilder<>(barrier).CreateFence(llvm::AtomicOrdering::SequentiallyConsistent, llvm::SyncScope::SingleThread);
    barrier->eraseFromParent();
  }
}

uint32_t ThreadsOf(const DescriptorFields& descriptor) {
  uint32_t threads = 1;
  for (unsigned axis = 0; axis < 3; ++axis) threads *= descriptor.Get32(offsetof(KernelDescriptor, block) + 4 * axis);
  return threads;
}

// The places at which warps take turns though none waits; nothing if that does not pay.
llvm::SmallVector<llvm::CallInst*, 8> FindTurns(llvm::Function& warp, uint64_t warps, uint32_t param_bytes) {
  const auto is_variable = [](const llvm::Instruction& instruction) {
    return llvm::isa<llvm::AllocaInst>(instruction);
  };
  if (warps < 2 || llvm::any_of(llvm::instructions(warp), is_variable)) return {};
  auto turns = MarkColumnWalks(warp, param_bytes);
  if (turns.empty()) return {};
  const auto is_own = [](const llvm::Instruction&) { return false; };
  const uint64_t bytes = FrameCut(warp, turns, is_own).frame_bytes();
  if (bytes <= kMaxTurnBytes && warps * bytes <= kMaxTurnsBytes) return turns;
  EraseMarks(turns);
  return {};
}

void InlineWarp(llvm::Function& warp) {
  llvm::InlineFunctionInfo info;
  llvm::InlineFunction(*llvm::cast<llvm::CallInst>(warp.user_back()), info);
  warp.eraseFromParent();
}

}  // namespace

void KeepWarpsThatTakeTurns(llvm::Module& module) {
  llvm::Function* warp = module.getFunction("tutti.warp");
  const auto descriptor = DescriptorFields::Of(module);
  if (warp == nullptr || warp->arg_size() != 2 || !descriptor || ThreadsOf(*descriptor) <= guest::kWarpSize) return;
  if (warp->hasFnAttribute(kOneAfterTheOther) || !HasColumnWalks(*warp)) return;
  warp->removeFnAttr(llvm::Attribute::AlwaysInline);
  llvm::IRBuilder<> builder(&warp->getEntryBlock(), warp->getEntryBlock().begin());
  static_assert(offsetof(WarpState, block) == 0);
  llvm::LoadInst* block = builder.CreateLoad(builder.getPtrTy(), warp->getArg(0));
  block->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(builder.getContext(), {}));
  warp->getArg(1)->replaceAllUsesWith(block);
}

bool RunInLockstep(llvm::Module& module) {
  llvm::Function* warp = module.getFunction("tutti.warp");
  llvm::Function* run = module.getFunction("tutti.run");
  auto descriptor = DescriptorFields::Of(module);
  if (warp == nullptr || run == nullptr || !descriptor) return false;
  const uint32_t flags = descriptor->Get32(offsetof(KernelDescriptor, flags));
  if ((flags & guest::kCooperative) != 0) return false;
  const uint32_t threads = ThreadsOf(*descriptor);
  auto barriers = FindBarriers(*warp, threads);
  if (!barriers || barriers->empty() != ((flags & guest::kYields) == 0)) return false;
  const auto end_waiting = [&](uint64_t more_stack) {
    descriptor->Set32(offsetof(KernelDescriptor, flags), flags & ~guest::kYields);
    const uint64_t stack_bytes = descriptor->Get32(offsetof(KernelDescriptor, stack_bytes)) + more_stack;
    descriptor->Set32(offsetof(KernelDescriptor, stack_bytes), static_cast<uint32_t>(stack_bytes));
    return true;
  };
  const uint64_t warps = (threads + guest::kWarpSize - 1) / guest::kWarpSize;  // 0: unknown
  const uint32_t param_bytes = descriptor->Get32(offsetof(KernelDescriptor, param_bytes));
  const bool takes_turns = barriers->empty();
  if (takes_turns) *barriers = FindTurns(*warp, warps, param_bytes);
  if (barriers->empty()) {
    EraseMark(module);
    InlineWarp(*warp);
    return true;
  }
  if (warps == 1) {
    EraseBarriers(*barriers);
    return end_waiting(0);
  }
  const auto down = std::ranges::stable_partition(*barriers, [&](const llvm::CallInst* call) {
    return IsMark(*call) || IsMode(*call, BarrierMode::kArriveAndWait);
  });
  const auto is_own = [](const llvm::Instruction&) { return false; };
  if (const FrameCut planned(*warp, *barriers, is_own);
      planned.frame_bytes() > kMaxFrameBytes || planned.kept_bytes() > kMaxKeptBytes)
    return false;

  const auto turns = takes_turns ? llvm::ArrayRef<llvm::CallInst*>(*barriers) : llvm::ArrayRef<llvm::CallInst*>();
  BlockValues values(*warp, param_bytes, turns);
  const bool together = warps != 0 && values.AllMeetAt(*barriers);
  Step step = MakeStep(*warp, *run, values);
  FrameCut cut(*step.function, *barriers,
               [&](const llvm::Instruction& value) { return together && values.IsShared(value); });
  step.warps = warps;
  step.some_end_early = takes_turns;
  step.frame_bytes = cut.frame_bytes();
  step.shared_bytes = cut.shared_bytes();
  step.shared_places = cut.shared_places();
  step.upwards = barriers->size() - down.size();
  step.barriers = barriers->size();
  const auto argument = [&](unsigned i) { return step.function->getArg(i); };
  cut.Apply(*step.function, {argument(Step::kFrame), argument(Step::kSharedBefore), argument(Step::kSharedAfter)},
            argument(Step::kState));
  EraseMark(module);
  if (!together || !EmitFusedRounds(*run, step)) EmitRounds(*run, step);
  warp->eraseFromParent();
  const uint64_t frames_bytes = (warps != 0 ? warps : guest::kWarpSize) * step.frame_bytes + 2 * step.shared_bytes;
  // And for what moves out of the loops over warps.
  constexpr uint64_t kCommonBytes = 16 << 10;
  return end_waiting(llvm::alignTo(frames_bytes + kCommonBytes, 4096));
}

}  // namespace tutti::compiler
