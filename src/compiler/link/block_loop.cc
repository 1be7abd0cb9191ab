#include "compiler/link/block_loop.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>

#include "compiler/link/descriptor_fields.h"
#include "guest/cpu/kernel_abi.h"

namespace tutti::compiler {
namespace {

using guest::BlockState;
using guest::GuestServices;
using guest::KernelDescriptor;
using guest::WarpState;

constexpr uint64_t kX = offsetof(BlockState, ctaid), kXBytes = sizeof(uint32_t);

bool MayNotChange(const llvm::LoadInst& load) {
  return load.isSimple() && load.hasMetadata(llvm::LLVMContext::MD_invariant_load);
}

// The guest runtime's functions and the device's services neither read ctaid nor keep anything of the block.
bool MayCall(const llvm::CallBase& call) {
  const llvm::Function* callee = call.getCalledFunction();
  if (callee != nullptr) return callee->isDeclaration() || callee->getName().starts_with("tutti_");
  return call.isInlineAsm() || call.getMetadata("tutti.service") != nullptr;
}

// What run knows of the state of its block, which all its warps point to.
class StateOfBlock {
 public:
  StateOfBlock(llvm::Function& run, uint32_t param_bytes) : param_bytes_(param_bytes), layout_(run.getDataLayout()) {
    FollowWarps(*run.getArg(0), 0);
  }

  // Every way in which the code uses it is known.
  bool is_known() const { return is_known_; }
  // All are of the same address.
  llvm::ArrayRef<llvm::LoadInst*> loads_of_address() const { return loads_of_address_; }
  llvm::ArrayRef<llvm::LoadInst*> loads_of_x() const { return loads_of_x_; }

  // Reads what does not change from block to block, and can be read at any time.
  bool IsOfLaunch(const llvm::LoadInst& load) const {
    if (!MayNotChange(load)) return false;
    if (of_launch_.contains(&load)) return true;
    // A parameter's address is a number: inttoptr(base + constant).
    const auto* number = llvm::dyn_cast<llvm::IntToPtrInst>(load.getPointerOperand());
    if (number == nullptr) return false;
    const llvm::Value* base = number->getOperand(0);
    uint64_t offset = 0;
    if (const auto* sum = llvm::dyn_cast<llvm::AddOperator>(base)) {
      const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(sum->getOperand(1));
      if (constant == nullptr) return false;
      base = sum->getOperand(0);
      offset = constant->getZExtValue();
    }
    const uint64_t bytes = layout_.getTypeStoreSize(load.getType());
    return params_.contains(base) && offset <= param_bytes_ && bytes <= param_bytes_ - offset;
  }

 private:
  // `address` is `offset` bytes into the state of some warp.
  void FollowWarps(llvm::Value& address, int64_t offset) {
    for (llvm::Use& use : address.uses()) {
      llvm::User* const user = use.getUser();
      if (auto* step = llvm::dyn_cast<llvm::GEPOperator>(user)) {
        llvm::MapVector<llvm::Value*, llvm::APInt> of_warps;
        llvm::APInt constant(64, 0);
        is_known_ &= step->collectOffset(layout_, 64, of_warps, constant);
        FollowWarps(*step, offset + constant.getSExtValue());
      } else if (auto* load = llvm::dyn_cast<llvm::LoadInst>(user)) {
        constexpr int64_t kBytes = sizeof(WarpState);
        const bool is_state = (offset % kBytes + kBytes) % kBytes == offsetof(WarpState, block);
        if (is_state && load->getType()->isPointerTy()) {
          loads_of_address_.push_back(load);
          Follow(*load, 0);
        }
        is_known_ &= !is_state || load->getType()->isPointerTy();
      } else if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(user)) {
        is_known_ &= store->getValueOperand() != &address;
      } else {
        const auto* call = llvm::dyn_cast<llvm::CallBase>(user);
        is_known_ &= call != nullptr && MayCall(*call);
      }
    }
  }

  // `address` is `offset` bytes into the block's state.
  void Follow(llvm::Value& address, uint64_t offset) {
    for (llvm::User* user : address.users()) {
      llvm::APInt constant(64, 0);
      if (auto* load = llvm::dyn_cast<llvm::LoadInst>(user)) {
        FollowLoad(*load, offset);
      } else if (auto* step = llvm::dyn_cast<llvm::GEPOperator>(user);
                 step != nullptr && step->accumulateConstantOffset(layout_, constant)) {
        Follow(*step, offset + constant.getZExtValue());
      } else {
        is_known_ = false;
      }
    }
  }

  void FollowLoad(llvm::LoadInst& load, uint64_t offset) {
    const uint64_t bytes = layout_.getTypeStoreSize(load.getType());
    if (offset == kX && load.getType()->isIntegerTy(8 * kXBytes) && load.isSimple()) {
      loads_of_x_.push_back(&load);
    } else if (offset < kX + kXBytes && kX < offset + bytes) {
      is_known_ = false;
    } else if (MayNotChange(load) && offset + bytes <= offsetof(BlockState, writes)) {
      of_launch_.insert(&load);
      if (offset == offsetof(BlockState, params) && bytes == sizeof(uint64_t)) params_.insert(&load);
      if (offset == offsetof(BlockState, services)) FollowServices(load);
    }
  }

  void FollowServices(const llvm::Value& address, uint64_t offset = 0) {
    for (const llvm::User* user : address.users()) {
      llvm::APInt constant(64, 0);
      if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(user)) {
        if (offset + sizeof(void*) <= sizeof(GuestServices)) of_launch_.insert(load);
      } else if (const auto* step = llvm::dyn_cast<llvm::GEPOperator>(user);
                 step != nullptr && step->accumulateConstantOffset(layout_, constant)) {
        FollowServices(*step, offset + constant.getZExtValue());
      }
    }
  }

  const uint32_t param_bytes_;
  const llvm::DataLayout& layout_;
  bool is_known_ = true;
  llvm::SmallVector<llvm::LoadInst*, 4> loads_of_address_;
  llvm::SmallVector<llvm::LoadInst*, 4> loads_of_x_;
  llvm::SmallPtrSet<const llvm::LoadInst*, 32> of_launch_;
  llvm::SmallPtrSet<const llvm::Value*, 4> params_;
};

bool HasOneFrame(const llvm::Function& run) {
  return llvm::all_of(llvm::instructions(run), [](const llvm::Instruction& instruction) {
    const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    return (variable == nullptr || variable->isStaticAlloca()) && (call == nullptr || MayCall(*call));
  });
}

// `run` in a loop. Its first block, which is new, is in front of that.
llvm::BasicBlock* AddLoop(llvm::Function& run, const StateOfBlock& known) {
  llvm::LLVMContext& context = run.getContext();
  llvm::BasicBlock* const body = &run.getEntryBlock();
  llvm::SmallVector<llvm::ReturnInst*, 4> ends;
  for (llvm::BasicBlock& block : run) {
    if (auto* end = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator())) ends.push_back(end);
  }
  auto* const first = llvm::BasicBlock::Create(context, "row", &run, body);
  auto* const ended = llvm::BasicBlock::Create(context, "block.ended", &run);
  auto* const done = llvm::BasicBlock::Create(context, "row.done", &run);
  body->setName("block");
  for (llvm::ReturnInst* end : ends) {
    llvm::BranchInst::Create(ended, end->getIterator());
    end->eraseFromParent();
  }
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(*body)) {
    if (llvm::isa<llvm::AllocaInst>(instruction)) instruction.moveBefore(*first, first->end());
  }

  llvm::IRBuilder<> builder(first);
  static_assert(offsetof(WarpState, block) == 0);
  llvm::LoadInst* const state = builder.CreateLoad(builder.getPtrTy(), run.getArg(0));
  state->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context, {}));
  llvm::Value* const place = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), state, kX);
  llvm::Value* const end_place =
      builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), state, offsetof(BlockState, ctaid_end));
  // Others read and write these between any two instructions.
  const auto load = [&](llvm::Value* address) {
    llvm::LoadInst* value = builder.CreateAlignedLoad(builder.getInt32Ty(), address, llvm::Align(4), true);
    value->setAtomic(llvm::AtomicOrdering::Monotonic);
    return value;
  };
  const auto keep_order = [&] {
    builder.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent, llvm::SyncScope::SingleThread);
  };
  llvm::Value* const begin = load(place);
  builder.CreateBr(body);

  builder.SetInsertPoint(body, body->begin());
  llvm::PHINode* const x = builder.CreatePHI(builder.getInt32Ty(), 2, "x");
  builder.SetInsertPoint(ended);
  llvm::Value* const next = builder.CreateAdd(x, builder.getInt32(1), "", /*HasNUW=*/true);
  keep_order();
  builder.CreateAlignedStore(next, place, llvm::Align(4), true)->setAtomic(llvm::AtomicOrdering::Monotonic);
  keep_order();
  llvm::Value* const goes_on = builder.CreateICmpULT(next, load(end_place));
  builder.CreateCondBr(goes_on, body, done, llvm::MDBuilder(context).createBranchWeights(16, 1));
  builder.SetInsertPoint(done);
  builder.CreateRetVoid();
  x->addIncoming(begin, first);
  x->addIncoming(next, ended);
  const auto replace = [](llvm::ArrayRef<llvm::LoadInst*> loads, llvm::Value* by) {
    for (llvm::LoadInst* load : loads) {
      load->replaceAllUsesWith(by);
      load->eraseFromParent();
    }
  };
  replace(known.loads_of_x(), x);
  replace(known.loads_of_address(), state);
  return first;
}

// Moves in front of the loop, to the end of `first`, what is computed outside of loops in each block, and alike.
void HoistOutOfBlocks(llvm::Function& run, llvm::BasicBlock* first, const StateOfBlock& state,
                      llvm::FunctionAnalysisManager& analyses) {
  const auto& dominators = analyses.getResult<llvm::DominatorTreeAnalysis>(run);
  const auto& loops = analyses.getResult<llvm::LoopAnalysis>(run);
  llvm::BasicBlock* const body = first->getSingleSuccessor();
  const llvm::Loop* const row = loops.getLoopFor(body);
  if (row == nullptr || row->getHeader() != body || row->getLoopLatch() == nullptr) return;
  const auto is_on_way = [&](const llvm::BasicBlock* block) {
    return loops.getLoopFor(block) == row && dominators.dominates(block, row->getLoopLatch());
  };
  const auto is_from_before = [&](const llvm::Use& use) {
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(use.get());
    return instruction == nullptr || !row->contains(instruction->getParent());
  };
  for (llvm::BasicBlock* block : llvm::ReversePostOrderTraversal<llvm::Function*>(&run)) {
    if (!row->contains(block) || !is_on_way(block)) continue;
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(*block)) {
      if (llvm::isa<llvm::PHINode, llvm::AllocaInst>(instruction) || instruction.isTerminator()) continue;
      const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
      const bool is_alike =
          load != nullptr ? state.IsOfLaunch(*load)
                          : !instruction.mayReadOrWriteMemory() && llvm::isSafeToSpeculativelyExecute(&instruction);
      if (!is_alike || !llvm::all_of(instruction.operands(), is_from_before)) continue;
      instruction.moveBefore(first->getTerminator());
      instruction.setDebugLoc(llvm::DebugLoc());
    }
  }
}

}  // namespace

llvm::PreservedAnalyses BlockLoopPass::run(llvm::Function& run, llvm::FunctionAnalysisManager& analyses) {
  if (run.getName() != "tutti.run") return llvm::PreservedAnalyses::all();
  const auto descriptor = DescriptorFields::Of(*run.getParent());
  if (!descriptor) return llvm::PreservedAnalyses::all();
  constexpr uint32_t kNotThese = guest::kYields | guest::kEndsLanes | guest::kCooperative;
  if ((descriptor->Get32(offsetof(KernelDescriptor, flags)) & kNotThese) != 0) return llvm::PreservedAnalyses::all();
  if (!HasOneFrame(run)) return llvm::PreservedAnalyses::all();
  const StateOfBlock state(run, descriptor->Get32(offsetof(KernelDescriptor, param_bytes)));
  if (!state.is_known()) return llvm::PreservedAnalyses::all();
  llvm::BasicBlock* const first = AddLoop(run, state);
  analyses.invalidate(run, llvm::PreservedAnalyses::none());
  HoistOutOfBlocks(run, first, state, analyses);
  return llvm::PreservedAnalyses::none();
}

}  // namespace tutti::compiler
