#include "compiler/link/block_values.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "guest/cpu/kernel_abi.h"

namespace tutti::compiler {
namespace {

using guest::BlockState;
using guest::GuestServices;
using guest::WarpState;

bool IsInvariant(const llvm::LoadInst& load) {
  return load.isSimple() && load.hasMetadata(llvm::LLVMContext::MD_invariant_load);
}

// An invariant load of a scalar of at most 8 bytes from `base` + `offset`.
struct Place {
  const llvm::Value* base;
  uint64_t offset;
};
Place PlaceOf(const llvm::LoadInst& load) {
  const llvm::DataLayout& layout = load.getDataLayout();
  llvm::APInt offset(64, 0);
  const llvm::Value* base = load.getPointerOperand()->stripAndAccumulateConstantOffsets(layout, offset, true);
  // The parameters' address is a number: inttoptr(base + constant).
  if (const auto* cast = llvm::dyn_cast<llvm::IntToPtrInst>(base)) {
    base = cast->getOperand(0);
    const auto* sum = llvm::dyn_cast<llvm::BinaryOperator>(base);
    if (sum != nullptr && sum->getOpcode() == llvm::Instruction::Add) {
      if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(sum->getOperand(1))) {
        offset += constant->getValue();
        base = sum->getOperand(0);
      }
    }
  }
  return {base, offset.getZExtValue()};
}

bool IsFieldOf(const llvm::Value* value, const llvm::Value* base, uint64_t offset) {
  const auto* load = llvm::dyn_cast<llvm::LoadInst>(value);
  if (load == nullptr || !IsInvariant(*load)) return false;
  const Place place = PlaceOf(*load);
  return place.base == base && place.offset == offset;
}

bool IsBlock(const llvm::Value* value, const llvm::Function& warp) {
  return value->getType()->isPointerTy() && IsFieldOf(value, warp.getArg(0), offsetof(WarpState, block));
}

bool IsBlockField(const llvm::Value* value, const llvm::Function& warp, uint64_t offset) {
  const auto* load = llvm::dyn_cast<llvm::LoadInst>(value);
  if (load == nullptr || !IsInvariant(*load)) return false;
  const Place place = PlaceOf(*load);
  return place.offset == offset && IsBlock(place.base, warp);
}

// It may differ whatever its operands are.
bool IsSource(const llvm::Instruction& instruction) {
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return !IsInvariant(*load);
  return llvm::isa<llvm::AllocaInst>(instruction) || instruction.mayReadOrWriteMemory() ||
         instruction.mayHaveSideEffects();
}

}  // namespace

BlockValues::BlockValues(llvm::Function& warp, uint32_t param_bytes, llvm::ArrayRef<llvm::CallInst*> turns)
    : warp_(warp), param_bytes_(param_bytes) {
  llvm::SmallVector<const llvm::BasicBlock*, 16> before;
  for (const llvm::CallInst* turn : turns) before.push_back(turn->getParent());
  while (!before.empty()) {
    const llvm::BasicBlock* block = before.pop_back_val();
    if (to_turns_.insert(block).second) before.append(llvm::pred_begin(block), llvm::pred_end(block));
  }
  const llvm::DominatorTree dominators(warp);
  const llvm::PostDominatorTree postdominators(warp);
  llvm::LoopInfo loops(dominators);
  llvm::ReversePostOrderTraversal<const llvm::Function*> order(&warp);
  knows_ways_ = !llvm::containsIrreducibleCFG<const llvm::BasicBlock*>(order, loops);
  for (const llvm::BasicBlock& block : warp) {
    const auto* node = postdominators.getNode(&block);
    const auto* meeting = node != nullptr ? node->getIDom() : nullptr;
    meets_[&block] = meeting != nullptr ? meeting->getBlock() : nullptr;
    for (const llvm::Loop* loop = loops.getLoopFor(&block); loop != nullptr; loop = loop->getParentLoop()) {
      auto& blocks = loops_[&block].emplace_back();
      blocks.insert(loop->block_begin(), loop->block_end());
    }
  }
  for (const llvm::Argument& argument : warp.args()) Differs(&argument);
  for (const llvm::Instruction& instruction : llvm::instructions(warp)) {
    if (IsSource(instruction) && !instruction.isTerminator()) Differs(&instruction);
  }
  Follow();
}

void BlockValues::Differs(const llvm::Value* value) {
  if (!value->getType()->isVoidTy() && differs_.insert(value).second) pending_.push_back(value);
}

void BlockValues::Follow() {
  while (!pending_.empty()) {
    for (const llvm::User* user : pending_.pop_back_val()->users()) {
      const auto* instruction = llvm::cast<llvm::Instruction>(user);
      if (instruction->isTerminator()) {
        if (instruction->getNumSuccessors() > 1) Part(*instruction->getParent());
      } else if (!IsBlock(instruction, warp_)) {
        Differs(instruction);
      }
    }
  }
}

// Warps leave `at` in different directions, and are together again where it says in meets_.
void BlockValues::Part(const llvm::BasicBlock& at) {
  if (!parted_.insert(&at).second || Leave(at)) return;
  const llvm::BasicBlock* meeting = meets_.lookup(&at);
  llvm::SmallPtrSet<const llvm::BasicBlock*, 16> region;
  llvm::SmallVector<const llvm::BasicBlock*, 16> blocks(llvm::successors(&at));
  while (!blocks.empty()) {
    const llvm::BasicBlock* block = blocks.pop_back_val();
    if (block == meeting || !region.insert(block).second) continue;
    blocks.append(llvm::succ_begin(block), llvm::succ_end(block));
  }
  apart_.insert(region.begin(), region.end());
  if (meeting != nullptr) region.insert(meeting);
  for (const llvm::BasicBlock* block : region) {
    for (const llvm::PHINode& phi : block->phis()) Differs(&phi);
  }
  // Loops that they leave after different numbers of rounds: what the last round left behind.
  for (const auto& loop : loops_[&at]) {
    if (meeting != nullptr && loop.contains(meeting)) break;
    for (const llvm::BasicBlock* block : loop) {
      for (const llvm::Instruction& instruction : *block) {
        const bool leaves = llvm::any_of(instruction.users(), [&](const llvm::User* user) {
          return !loop.contains(llvm::cast<llvm::Instruction>(user)->getParent());
        });
        if (leaves) Differs(&instruction);
      }
    }
  }
}

// Some leave `at` for where they come to no turn; those that do come to one go the same way. False: it is not so. What
// a loop leaves behind for those that leave it they use at once: it is in no frame.
bool BlockValues::Leave(const llvm::BasicBlock& at) {
  const llvm::BasicBlock* way = nullptr;
  llvm::SmallPtrSet<const llvm::BasicBlock*, 16> left;
  llvm::SmallVector<const llvm::BasicBlock*, 16> blocks;
  for (const llvm::BasicBlock* next : llvm::successors(&at)) {
    if (!to_turns_.contains(next)) {
      blocks.push_back(next);
    } else if (way != nullptr && way != next) {
      return false;
    } else {
      way = next;
    }
  }
  if (way == nullptr) return false;
  while (!blocks.empty()) {
    const llvm::BasicBlock* block = blocks.pop_back_val();
    if (!left.insert(block).second) continue;
    blocks.append(llvm::succ_begin(block), llvm::succ_end(block));
    for (const llvm::PHINode& phi : block->phis()) Differs(&phi);
  }
  apart_.insert(left.begin(), left.end());
  return true;
}

bool BlockValues::AllMeetAt(llvm::ArrayRef<llvm::CallInst*> barriers) const {
  return knows_ways_ &&
         llvm::none_of(barriers, [&](const llvm::CallInst* barrier) { return apart_.contains(barrier->getParent()); });
}

bool BlockValues::IsWarpNumber(const llvm::Instruction& value) {
  return value.getType()->isIntegerTy(32) &&
         IsFieldOf(&value, value.getFunction()->getArg(0), offsetof(WarpState, warp));
}

bool BlockValues::IsOfBlockLoad(const llvm::LoadInst& load) const {
  if (!IsInvariant(load)) return false;
  const Place place = PlaceOf(load);
  const uint64_t bytes = load.getDataLayout().getTypeStoreSize(load.getType());
  const auto is_within = [&](uint64_t size) { return place.offset <= size && bytes <= size - place.offset; };
  return IsBlock(&load, warp_) || (IsBlock(place.base, warp_) && is_within(sizeof(BlockState))) ||
         (IsBlockField(place.base, warp_, offsetof(BlockState, services)) && is_within(sizeof(GuestServices))) ||
         (IsBlockField(place.base, warp_, offsetof(BlockState, params)) && is_within(param_bytes_));
}

bool BlockValues::IsOfBlock(const llvm::Value& value) {
  if (llvm::isa<llvm::ConstantInt, llvm::ConstantFP, llvm::ConstantPointerNull, llvm::GlobalValue>(value)) return true;
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(&value);
  if (instruction == nullptr || llvm::isa<llvm::PHINode>(instruction) || instruction->getType()->isVectorTy())
    return false;
  if (const auto known = of_block_.find(instruction); known != of_block_.end()) return known->second;
  of_block_[instruction] = false;
  bool is = false;
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction)) {
    is = IsOfBlockLoad(*load);
  } else if (llvm::isa<llvm::UnaryOperator, llvm::BinaryOperator, llvm::CastInst, llvm::CmpInst, llvm::SelectInst,
                       llvm::GetElementPtrInst, llvm::IntrinsicInst>(instruction)) {
    is = !instruction->mayReadOrWriteMemory() && llvm::isSafeToSpeculativelyExecute(instruction) &&
         llvm::all_of(instruction->operands(), [&](const llvm::Use& operand) {
           return llvm::isa<llvm::Function>(operand.get()) || IsOfBlock(*operand.get());
         });
  }
  return of_block_[instruction] = is;
}

}  // namespace tutti::compiler
