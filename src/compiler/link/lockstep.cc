#include "compiler/link/lockstep.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <optional>

#include "compiler/link/descriptor_fields.h"
#include "compiler/link/frame_cut.h"
#include "guest/kernel_abi.h"

namespace tutti::compiler {
namespace {

using guest::BarrierMode;
using guest::GuestServices;
using guest::KernelDescriptor;
using guest::WarpState;

constexpr uint64_t kMaxFrameBytes = 16 << 10;  // of one warp: beyond that a stack of its own is no worse

// The offset in GuestServices of the service that `call` calls; nothing for other calls.
std::optional<uint64_t> ServiceOf(const llvm::CallInst& call) {
  const llvm::MDNode* mark = call.getMetadata("tutti.service");
  if (mark == nullptr) return std::nullopt;
  return llvm::mdconst::extract<llvm::ConstantInt>(mark->getOperand(0))->getZExtValue();
}

bool Waits(uint64_t service) {
  return service == offsetof(GuestServices, barrier) || service == offsetof(GuestServices, barrier_reduce) ||
         service == offsetof(GuestServices, yield) || service == offsetof(GuestServices, cluster_barrier) ||
         service == offsetof(GuestServices, grid_barrier);
}

bool IsConstant(const llvm::Value* value, uint64_t expected) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value);
  return constant != nullptr && constant->getZExtValue() == expected;
}

// All lanes of the warp: the constant mask, or what the warp's state held when it began.
bool IsWholeWarp(const llvm::Value* mask, const llvm::Function& warp) {
  if (IsConstant(mask, ~0u)) return true;
  const auto* load = llvm::dyn_cast<llvm::LoadInst>(mask);
  if (load == nullptr || load->getParent() != &warp.getEntryBlock()) return false;
  llvm::APInt offset(64, 0);
  const llvm::Value* base = load->getPointerOperand()->stripAndAccumulateConstantOffsets(warp.getDataLayout(), offset, true);
  return base == warp.getArg(0) && offset == offsetof(WarpState, lanes);
}

bool IsMode(const llvm::CallInst& barrier, BarrierMode mode) {
  return IsConstant(barrier.getArgOperand(4), static_cast<uint64_t>(mode));
}

// A wait of all lanes of the warp for the whole block.
bool IsBlockBarrier(const llvm::CallInst& call, const llvm::Function& warp, uint32_t threads) {
  if (ServiceOf(call) != offsetof(GuestServices, barrier)) return false;
  const bool whole_block = IsConstant(call.getArgOperand(3), 0) || (threads != 0 && IsConstant(call.getArgOperand(3), threads));
  return IsWholeWarp(call.getArgOperand(1), warp) && whole_block &&
         (IsMode(call, BarrierMode::kArriveAndWait) || IsMode(call, BarrierMode::kArriveAndWaitDown));
}

// The barriers of `warp`; nothing if the kernel also waits in a way that a round of all warps does not give.
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

// i32 step(warp, frame, state), with the body of `warp`.
llvm::Function* MakeStep(llvm::Function& warp) {
  llvm::Type* i32 = llvm::Type::getInt32Ty(warp.getContext());
  llvm::Type* pointer = warp.getArg(0)->getType();
  auto* step = llvm::Function::Create(llvm::FunctionType::get(i32, {pointer, pointer, i32}, false), llvm::GlobalValue::InternalLinkage,
                                      "tutti.step", *warp.getParent());
  step->copyAttributesFrom(&warp);
  step->setSubprogram(warp.getSubprogram());
  warp.setSubprogram(nullptr);
  step->splice(step->begin(), &warp);
  warp.getArg(0)->replaceAllUsesWith(step->getArg(0));
  for (llvm::BasicBlock& block : *step) {
    auto* end = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator());
    if (end == nullptr) continue;
    llvm::ReturnInst::Create(warp.getContext(), llvm::ConstantInt::getSigned(i32, -1), end->getIterator());
    end->eraseFromParent();
  }
  return step;
}

// Fills run(warps, count): round after round, each warp that has not ended takes one step. Behind the first `upwards`
// barriers the first warp goes on first; if there are others, the last warp does behind these.
void EmitRounds(llvm::Function& run, llvm::Function& step, uint64_t frame_bytes, size_t upwards, size_t barriers) {
  run.deleteBody();
  run.setLinkage(llvm::GlobalValue::InternalLinkage);
  llvm::LLVMContext& context = run.getContext();
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", &run));
  llvm::Type *i8 = builder.getInt8Ty(), *i32 = builder.getInt32Ty(), *i64 = builder.getInt64Ty();
  auto* round = llvm::BasicBlock::Create(context, "round", &run);
  auto* next = llvm::BasicBlock::Create(context, "next", &run);
  auto* advance = llvm::BasicBlock::Create(context, "step", &run);
  auto* skip = llvm::BasicBlock::Create(context, "skip", &run);
  auto* again = llvm::BasicBlock::Create(context, "again", &run);
  auto* done = llvm::BasicBlock::Create(context, "done", &run);

  llvm::Value* count = builder.CreateZExt(run.getArg(1), i64);
  auto* frames = builder.CreateAlloca(i8, builder.CreateMul(count, builder.getInt64(frame_bytes)));
  frames->setAlignment(llvm::Align(64));
  auto* states = builder.CreateAlloca(llvm::ArrayType::get(i32, guest::kWarpSize));
  states->setAlignment(llvm::Align(64));
  builder.CreateMemSet(states, builder.getInt8(0), sizeof(uint32_t) * guest::kWarpSize, llvm::Align(64));
  builder.CreateCondBr(builder.CreateICmpEQ(count, builder.getInt64(0)), done, round);

  const bool turns_round = upwards != barriers;
  llvm::BasicBlock* entry = builder.GetInsertBlock();
  builder.SetInsertPoint(round);
  auto* down = turns_round ? builder.CreatePHI(builder.getInt1Ty(), 2) : nullptr;
  builder.CreateBr(next);

  builder.SetInsertPoint(next);
  auto* position = builder.CreatePHI(i64, 2);
  auto* waiting = builder.CreatePHI(builder.getInt1Ty(), 2);
  auto* turning = turns_round ? builder.CreatePHI(builder.getInt1Ty(), 2) : nullptr;
  llvm::Value* index = position;
  if (turns_round) {
    llvm::Value* last = builder.CreateSub(count, builder.getInt64(1));
    index = builder.CreateSelect(down, builder.CreateSub(last, position), position);
  }
  llvm::Value* slot = builder.CreateInBoundsGEP(i32, states, index);
  llvm::Value* state = builder.CreateLoad(i32, slot);
  builder.CreateCondBr(builder.CreateICmpEQ(state, builder.getInt32(~0u)), skip, advance);

  builder.SetInsertPoint(advance);
  llvm::Value* warp = builder.CreateInBoundsGEP(i8, run.getArg(0), builder.CreateMul(index, builder.getInt64(sizeof(WarpState))));
  llvm::Value* frame = builder.CreateInBoundsGEP(i8, frames, builder.CreateMul(index, builder.getInt64(frame_bytes)));
  llvm::Value* reached = builder.CreateCall(&step, {warp, frame, state});
  builder.CreateStore(reached, slot);
  llvm::Value* waits = builder.CreateOr(waiting, builder.CreateICmpNE(reached, builder.getInt32(~0u)));
  llvm::Value* turns = nullptr;
  if (turns_round) {
    llvm::Value* beyond = builder.CreateSub(reached, builder.getInt32(static_cast<uint32_t>(upwards) + 1));
    llvm::Value* is_down = builder.CreateICmpULT(beyond, builder.getInt32(static_cast<uint32_t>(barriers - upwards)));
    turns = builder.CreateOr(turning, is_down);
  }
  builder.CreateBr(skip);

  builder.SetInsertPoint(skip);
  auto* any = builder.CreatePHI(builder.getInt1Ty(), 2);
  any->addIncoming(waiting, next);
  any->addIncoming(waits, advance);
  if (turns_round) {
    auto* turned = builder.CreatePHI(builder.getInt1Ty(), 2);
    turned->addIncoming(turning, next);
    turned->addIncoming(turns, advance);
    turning->addIncoming(builder.getFalse(), round);
    turning->addIncoming(turned, skip);
    down->addIncoming(builder.getFalse(), entry);
    down->addIncoming(turned, again);
  }
  llvm::Value* following = builder.CreateAdd(position, builder.getInt64(1));
  builder.CreateCondBr(builder.CreateICmpEQ(following, count), again, next);
  position->addIncoming(builder.getInt64(0), round);
  position->addIncoming(following, skip);
  waiting->addIncoming(builder.getFalse(), round);
  waiting->addIncoming(any, skip);

  builder.SetInsertPoint(again);
  builder.CreateCondBr(any, round, done);
  builder.SetInsertPoint(done);
  builder.CreateRetVoid();
}

uint32_t ThreadsOf(const DescriptorFields& descriptor) {
  uint32_t threads = 1;
  for (unsigned axis = 0; axis < 3; ++axis) threads *= descriptor.Get32(offsetof(KernelDescriptor, block) + 4 * axis);
  return threads;
}

}  // namespace

bool RunInLockstep(llvm::Module& module) {
  llvm::Function* warp = module.getFunction("tutti.warp");
  llvm::Function* run = module.getFunction("tutti.run");
  auto descriptor = DescriptorFields::Of(module);
  if (warp == nullptr || run == nullptr || !descriptor) return false;
  const uint32_t flags = descriptor->Get32(offsetof(KernelDescriptor, flags));
  if ((flags & guest::kYields) == 0 || (flags & guest::kCooperative) != 0) return false;
  const uint32_t threads = ThreadsOf(*descriptor);
  auto barriers = FindBarriers(*warp, threads);
  if (!barriers || barriers->empty()) return false;
  const auto down = std::ranges::stable_partition(
      *barriers, [](const llvm::CallInst* call) { return IsMode(*call, BarrierMode::kArriveAndWait); });

  FrameCut cut(*warp, *barriers);
  const uint64_t frame_bytes = cut.frame_bytes();
  if (frame_bytes > kMaxFrameBytes) return false;
  llvm::Function* step = MakeStep(*warp);
  cut.Apply(*step);
  EmitRounds(*run, *step, frame_bytes, barriers->size() - down.size(), barriers->size());
  warp->eraseFromParent();
  const uint64_t warps = threads != 0 ? (threads + guest::kWarpSize - 1) / guest::kWarpSize : guest::kWarpSize;
  descriptor->Set32(offsetof(KernelDescriptor, flags), flags & ~guest::kYields);
  descriptor->Set32(offsetof(KernelDescriptor, stack_bytes),
                    static_cast<uint32_t>(descriptor->Get32(offsetof(KernelDescriptor, stack_bytes)) + llvm::alignTo(warps * frame_bytes + 256, 4096)));
  return true;
}

}  // namespace tutti::compiler
