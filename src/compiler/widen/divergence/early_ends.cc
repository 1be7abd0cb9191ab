#include "compiler/widen/divergence/early_ends.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include "compiler/widen/analysis/intrinsics.h"

namespace tutti::compiler {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using Part = llvm::SetVector<BasicBlock*>;

constexpr size_t kMostEndCode = 4096;  // instructions

bool IsReturn(const BasicBlock& block) { return llvm::isa<llvm::ReturnInst>(block.getTerminator()); }

class EndSeparator {
 public:
  explicit EndSeparator(llvm::Function& function) : function_(function) {
    const auto before_meeting = BlocksBeforeMeetings(function);
    for (BasicBlock& block : function) {
      if (!before_meeting.contains(&block)) {
        ends_.insert(&block);
        continue;
      }
      Instruction* jump = block.getTerminator();
      for (unsigned i = 0; i < jump->getNumSuccessors(); ++i) {
        BasicBlock* to = jump->getSuccessor(i);
        if (!before_meeting.contains(to) && !IsReturn(*to)) entries_.emplace_back(jump, i);
      }
    }
  }

  bool HasEntries() const { return !entries_.empty(); }

  bool IsSmallEnough() const {
    size_t copied = 0;
    for (const auto& [jump, i] : entries_) {
      for (const BasicBlock* block : PartFrom(jump->getSuccessor(i))) copied += block->size();
    }
    return copied <= kMostEndCode;
  }

  void Run() {
    KeepInMemory();
    for (const auto& [jump, i] : entries_) {
      const Part part = PartFrom(jump->getSuccessor(i));
      if (!HasOneEntry(part)) jump->setSuccessor(i, Copy(part));
    }
    llvm::EliminateUnreachableBlocks(function_);
    llvm::DominatorTree dominators(function_);
    llvm::PromoteMemToReg(slots_, dominators);
  }

 private:
  // Values that cross blocks there: after duplication several definitions reach a use.
  void KeepInMemory() {
    // Phis first: each is replaced by a load, which may itself cross to the return.
    std::vector<llvm::PHINode*> phis;
    for (BasicBlock* block : ends_) {
      for (llvm::PHINode& phi : block->phis()) phis.push_back(&phi);
    }
    for (llvm::PHINode* phi : phis) {
      if (llvm::AllocaInst* slot = llvm::DemotePHIToStack(phi)) slots_.push_back(slot);
    }
    std::vector<Instruction*> crossing;
    for (BasicBlock* block : ends_) {
      for (Instruction& instruction : *block) {
        if (instruction.isUsedOutsideOfBlock(block)) crossing.push_back(&instruction);
      }
    }
    for (Instruction* instruction : crossing) {
      if (llvm::AllocaInst* slot = llvm::DemoteRegToStack(*instruction)) slots_.push_back(slot);
    }
  }

  BasicBlock* Copy(const Part& part) {
    llvm::ValueToValueMapTy copies;
    std::vector<BasicBlock*> made;
    for (BasicBlock* block : part) {
      made.push_back(llvm::CloneBasicBlock(block, copies, ".end", &function_));
      copies[block] = made.back();
    }
    for (BasicBlock* block : made) {
      for (Instruction& instruction : *block) {
        llvm::RemapInstruction(&instruction, copies, llvm::RF_NoModuleLevelChanges | llvm::RF_IgnoreMissingLocals);
      }
    }
    return made.front();
  }

  llvm::Function& function_;
  llvm::SetVector<BasicBlock*> ends_;  // blocks that lead to no meeting, the return included
  std::vector<std::pair<Instruction*, unsigned>> entries_;  // jumps into them from blocks that do
  std::vector<llvm::AllocaInst*> slots_;
};

}  // namespace

bool HasJumpsToEnds(llvm::Function& function) { return EndSeparator(function).HasEntries(); }

bool HoldsBackEnds(llvm::Function& function, const Schedule& schedule) {
  const auto before_meeting = BlocksBeforeMeetings(function);
  for (unsigned i = 0; i < schedule.size(); ++i) {
    if (schedule.runs_all_lanes(i) || !WaitsForLanes(*schedule.block(i))) continue;
    for (unsigned other : schedule.waiting(i).set_bits()) {
      const BasicBlock* block = schedule.block(other);
      if (!IsReturn(*block) && !before_meeting.contains(block)) return true;
    }
  }
  return false;
}

bool SeparateEnds(llvm::Function& function) {
  EndSeparator separator(function);
  if (!separator.IsSmallEnough()) return false;
  separator.Run();
  return true;
}

}  // namespace tutti::compiler
