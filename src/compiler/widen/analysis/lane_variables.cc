#include "compiler/widen/analysis/lane_variables.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include <algorithm>

#include "compiler/widen/analysis/local_frame.h"

namespace tutti::compiler {

LaneVariables::LaneVariables(llvm::Function& function) : function_(function) {
  std::vector<llvm::AllocaInst*> allocas;
  for (llvm::Instruction& instruction : function.getEntryBlock()) {
    if (auto* alloca = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) allocas.push_back(alloca);
  }
  for (llvm::AllocaInst* alloca : allocas) alloca->moveBefore(&*function.getEntryBlock().begin());
}

namespace {

// Where the value is stored for other blocks. Uses in its own block need no load, those in another share one: widening
// makes each load and store of a variable in memory whole vectors.
llvm::AllocaInst* StoreForOtherBlocks(llvm::Instruction& value) {
  llvm::BasicBlock* own = value.getParent();
  llvm::BasicBlock& entry = own->getParent()->getEntryBlock();
  auto* slot = new llvm::AllocaInst(value.getType(), 0, value.getName() + ".lost", entry.begin());
  llvm::DenseMap<llvm::BasicBlock*, llvm::Instruction*> first;  // by block: where its load has to be
  std::vector<llvm::Use*> uses;
  const auto at_use = [](const llvm::Use& use) -> llvm::Instruction* {
    auto* user = llvm::cast<llvm::Instruction>(use.getUser());
    const auto* phi = llvm::dyn_cast<llvm::PHINode>(user);
    return phi != nullptr ? phi->getIncomingBlock(use)->getTerminator() : user;
  };
  for (llvm::Use& use : value.uses()) {
    llvm::Instruction* at = at_use(use);
    if (at->getParent() == own && (value.comesBefore(at) || &value == at)) continue;
    uses.push_back(&use);
    llvm::Instruction*& before = first[at->getParent()];
    if (before == nullptr || at->comesBefore(before)) before = at;
  }
  llvm::DenseMap<llvm::BasicBlock*, llvm::Value*> loads;
  for (llvm::Use* use : uses) {
    llvm::BasicBlock* block = at_use(*use)->getParent();
    llvm::Value*& load = loads[block];
    if (load == nullptr)
      load = new llvm::LoadInst(value.getType(), slot, value.getName() + ".kept", first[block]->getIterator());
    use->set(load);
  }
  const auto behind = llvm::isa<llvm::PHINode>(value) ? own->getFirstInsertionPt() : std::next(value.getIterator());
  new llvm::StoreInst(&value, slot, behind);
  return slot;
}

}  // namespace

void LaneVariables::Keep(llvm::AllocaInst* slot) {
  first_stores_.push_back(new llvm::StoreInst(llvm::Constant::getNullValue(slot->getAllocatedType()), slot,
                                              std::next(slot->getIterator())));
  slots_.push_back(slot);
}

llvm::AllocaInst* LaneVariables::New(llvm::Type* type, const llvm::Twine& name) {
  auto* slot = new llvm::AllocaInst(type, 0, name, function_.getEntryBlock().begin());
  Keep(slot);
  new_.insert(slot);
  return slot;
}

void LaneVariables::KeepPhis(llvm::ArrayRef<llvm::BasicBlock*> blocks) {
  for (llvm::BasicBlock* block : blocks) {
    std::vector<llvm::PHINode*> phis;
    for (llvm::PHINode& phi : block->phis()) phis.push_back(&phi);
    for (llvm::PHINode* phi : phis) {
      if (phi->use_empty()) {
        phi->eraseFromParent();
      } else {
        Keep(llvm::DemotePHIToStack(phi));
      }
    }
  }
}

void LaneVariables::KeepWhatCrosses() {
  // Phis first: each is replaced by a load, which may itself cross blocks.
  std::vector<llvm::BasicBlock*> blocks;
  for (llvm::BasicBlock& block : function_) blocks.push_back(&block);
  KeepPhis(blocks);
  std::vector<llvm::Instruction*> crossing;
  for (llvm::Instruction& instruction : llvm::instructions(function_)) {
    if (!instruction.getParent()->isEntryBlock() && instruction.isUsedOutsideOfBlock(instruction.getParent())) {
      crossing.push_back(&instruction);
    }
  }
  for (llvm::Instruction* instruction : crossing) Keep(llvm::DemoteRegToStack(*instruction));
}

void LaneVariables::KeepWhatIsLost() {
  const llvm::DominatorTree dominators(function_);
  std::vector<llvm::Instruction*> lost;
  for (llvm::Instruction& instruction : llvm::instructions(function_)) {
    const auto is_lost = [&](const llvm::Use& use) { return !dominators.dominates(&instruction, use); };
    if (llvm::any_of(instruction.uses(), is_lost)) lost.push_back(&instruction);
  }
  for (llvm::Instruction* instruction : lost) Keep(StoreForOtherBlocks(*instruction));
}

void LaneVariables::Double(llvm::ValueToValueMapTy& copies, const llvm::SmallPtrSetImpl<const llvm::Value*>& shared) {
  for (llvm::AllocaInst* slot : slots_) {
    if (shared.contains(slot)) continue;
    auto* own = new llvm::AllocaInst(slot->getAllocatedType(), 0, slot->getName() + ".apart",
                                     function_.getEntryBlock().begin());
    MakeWarpVariable(*own);
    doubled_.emplace_back(slot, own);
    copies[slot] = own;
  }
}

void LaneVariables::FindNeeded() {
  llvm::DenseMap<const llvm::Value*, unsigned> numbers;
  for (unsigned i = 0; i < doubled_.size(); ++i) numbers[doubled_[i].second] = i;
  const auto count = static_cast<unsigned>(doubled_.size());
  llvm::DenseMap<const llvm::BasicBlock*, llvm::BitVector> set;
  for (const llvm::BasicBlock& block : function_) {
    llvm::BitVector &needed = needed_[&block], &stored = set[&block];
    needed.resize(count);
    stored.resize(count);
    for (const llvm::Instruction& instruction : block) {
      const llvm::Value* pointer = llvm::getLoadStorePointerOperand(&instruction);
      const auto found = pointer != nullptr ? numbers.find(pointer) : numbers.end();
      if (found == numbers.end()) continue;
      if (llvm::isa<llvm::StoreInst>(instruction)) {
        stored.set(found->second);
      } else if (!stored.test(found->second)) {
        needed.set(found->second);
      }
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const llvm::BasicBlock& block : llvm::reverse(function_)) {
      llvm::BitVector needed(count);
      for (const llvm::BasicBlock* to : llvm::successors(&block)) needed |= needed_[to];
      needed.reset(set[&block]);
      needed |= needed_[&block];
      if (needed == needed_[&block]) continue;
      needed_[&block] = std::move(needed);
      changed = true;
    }
  }
}

void LaneVariables::TakeAlong(llvm::IRBuilder<>& builder, llvm::ArrayRef<llvm::BasicBlock*> blocks) {
  llvm::BitVector needed(static_cast<unsigned>(doubled_.size()));
  for (const llvm::BasicBlock* block : blocks) needed |= needed_[block];
  for (unsigned i : needed.set_bits()) {
    const auto& [original, own] = doubled_[i];
    builder.CreateStore(builder.CreateLoad(own->getAllocatedType(), original), own);
  }
}

void LaneVariables::StayInMemory() {
  const auto first =
      std::ranges::stable_partition(slots_, [&](const llvm::AllocaInst* slot) { return new_.contains(slot); });
  llvm::SmallPtrSet<const llvm::Value*, 16> kept(first.begin(), first.end());
  for (llvm::AllocaInst* slot : first) MakeWarpVariable(*slot);
  slots_.erase(first.begin(), first.end());
  for (llvm::StoreInst* store : first_stores_) {  // widening clears the variable
    if (kept.contains(store->getPointerOperand())) store->eraseFromParent();
  }
  first_stores_.clear();
}

void LaneVariables::Promote() {
  llvm::DominatorTree dominators(function_);
  llvm::PromoteMemToReg(slots_, dominators);
}

}  // namespace tutti::compiler
