// Where lanes may be while others take turns is decided by the schedule of the rewritten function, the one by which it
// will run: Schedule::waiting() holds every block that may have lanes pending. A function for which it holds more than
// it may is rewritten from its first place to its end instead (separation.cc). So FindTurnRegions() may be optimistic
// about lanes that come to a region's end on other ways: if they come through the loop of turns as they should, no
// block outside has any.
#include "compiler/widen/divergence/turn_regions.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/Constants.h>

#include <optional>

#include "compiler/widen/analysis/intrinsics.h"
#include "compiler/widen/divergence/spin_loops.h"

namespace tutti::compiler {
namespace {

using llvm::BasicBlock;
using llvm::CallInst;
using llvm::Instruction;
using Blocks = llvm::SetVector<BasicBlock*>;

bool IsConstant(const llvm::Value* value, uint64_t number) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value);
  return constant != nullptr && constant->getZExtValue() == number;
}

// A barrier at which every thread of the block waits for every other, counted or not.
bool IsBarrierOfAll(const Instruction& instruction, const BlockShape& shape) {
  const auto* call = llvm::dyn_cast<CallInst>(&instruction);
  if (call == nullptr) return false;
  const Intrinsic kind = ClassifyCall(*call).kind;
  if (kind != Intrinsic::kBarrier && kind != Intrinsic::kBarrierReduce) return false;
  if (!llvm::isa<llvm::ConstantInt>(call->getArgOperand(0))) return false;
  const llvm::Value* threads = call->getArgOperand(1);
  if (!IsConstant(threads, 0) && !(shape.is_known() && IsConstant(threads, shape.threads()))) return false;
  return kind == Intrinsic::kBarrierReduce || IsConstant(call->getArgOperand(2), 1);
}

bool IsReturn(const BasicBlock& block) { return llvm::isa<llvm::ReturnInst>(block.getTerminator()); }

// A lane that is here has nothing left to do.
bool IsOnlyReturn(const BasicBlock& block) { return llvm::isa<llvm::ReturnInst>(block.front()); }

class RegionFinder {
 public:
  RegionFinder(llvm::Function& function, const BlockShape& shape) {
    for (BasicBlock* header : SpinLoopHeaders(function)) {
      regions_.emplace_back();
      regions_.back().region.waiting.insert(header);
    }
    for (BasicBlock& block : function) {
      const auto barrier =
          llvm::find_if(block, [&](const Instruction& instruction) { return IsBarrierOfAll(instruction, shape); });
      if (barrier != block.end()) ends_.push_back(llvm::cast<CallInst>(&*barrier));
    }
  }

  std::vector<TurnRegion> Find() {
    for (Found& found : regions_) Extend(found);
    while (MergeTwo()) {
    }
    std::vector<TurnRegion> regions;
    bool any_ends = false;
    for (const Found& found : regions_) {
      regions.push_back(found.region);
      any_ends |= found.region.end != nullptr;
    }
    if (!any_ends) regions.clear();
    return regions;
  }

 private:
  struct Found {
    TurnRegion region;
    Blocks blocks;  // the end's block is one of them, up to the end
  };

  // The blocks that can be reached from these, themselves included, without passing `last`.
  static Blocks Reach(Blocks blocks, const BasicBlock* last) {
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i] == last) continue;
      for (BasicBlock* to : llvm::successors(blocks[i])) {
        if (!IsOnlyReturn(*to)) blocks.insert(to);
      }
    }
    return blocks;
  }

  static bool Intersect(const Blocks& a, const Blocks& b) {
    return llvm::any_of(a, [&](BasicBlock* block) { return b.contains(block); });
  }

  static size_t Size(const Blocks& blocks, const Instruction* end) {
    size_t size = 0;
    for (const BasicBlock* block : blocks) {
      const bool is_last = end != nullptr && end->getParent() == block;
      size += is_last ? static_cast<size_t>(std::distance(block->begin(), end->getIterator())) : block->size();
    }
    return size;
  }

  static Blocks From(const TurnRegion& region, const BasicBlock* last) {
    return Reach(Blocks(region.waiting.begin(), region.waiting.end()), last);
  }

  // Finds the end that leaves the least code in the region.
  void Extend(Found& found) const {
    found.region.end = nullptr;
    found.blocks = From(found.region, nullptr);
    for (CallInst* end : ends_) {
      BasicBlock* last = end->getParent();
      if (!found.blocks.contains(last)) continue;
      const Blocks blocks = From(found.region, last);
      if (!blocks.contains(last) || Size(blocks, end) >= Size(found.blocks, found.region.end)) continue;
      Blocks behind;
      for (BasicBlock* to : llvm::successors(last)) {
        if (!IsOnlyReturn(*to)) behind.insert(to);
      }
      if (Intersect(Reach(behind, nullptr), blocks)) continue;
      found.blocks = blocks;
      found.region.end = end;
    }
  }

  bool MergeTwo() {
    for (size_t i = 0; i < regions_.size(); ++i) {
      for (size_t k = i + 1; k < regions_.size(); ++k) {
        if (!Intersect(regions_[i].blocks, regions_[k].blocks)) continue;
        regions_[i].region.waiting.insert(regions_[k].region.waiting.begin(), regions_[k].region.waiting.end());
        regions_.erase(regions_.begin() + static_cast<std::ptrdiff_t>(k));
        Extend(regions_[i]);
        return true;
      }
    }
    return false;
  }

  std::vector<Found> regions_;
  std::vector<CallInst*> ends_;  // the first in each block
};

bool IsOfTurns(const Instruction& instruction) {
  const auto* call = llvm::dyn_cast<CallInst>(&instruction);
  return call != nullptr && ClassifyCall(*call).kind == Intrinsic::kTurn;
}

// Calls of functions count, for these may meet.
bool MayMeet(const BasicBlock& block) {
  return WaitsForLanes(block) || llvm::any_of(block, [](const Instruction& instruction) {
           const auto* call = llvm::dyn_cast<CallInst>(&instruction);
           if (call == nullptr) return false;
           const llvm::Function* callee = call->getCalledFunction();
           return callee == nullptr || !callee->isDeclaration() || ClassifyCall(*call).kind == Intrinsic::kIndirectCall;
         });
}

}  // namespace

std::vector<TurnRegion> FindTurnRegions(llvm::Function& function, const BlockShape& shape) {
  return RegionFinder(function, shape).Find();
}

bool AllLanesTakeTurns(const llvm::LoopInfo& loops, const Schedule& schedule, const BlockShape& shape) {
  llvm::SmallSetVector<const llvm::Loop*, 4> turns;
  for (unsigned i = 0; i < schedule.size(); ++i) {
    if (!llvm::any_of(*schedule.block(i), IsOfTurns)) continue;
    const llvm::Loop* loop = loops.getLoopFor(schedule.block(i));
    if (loop == nullptr) return false;
    turns.insert(loop);
  }
  const auto loop_of = [&](const BasicBlock* block) -> const llvm::Loop* {
    const auto* const found = llvm::find_if(turns, [&](const llvm::Loop* loop) { return loop->contains(block); });
    return found == turns.end() ? nullptr : *found;
  };
  for (unsigned i = 0; i < schedule.size(); ++i) {
    const llvm::Loop* loop = loop_of(schedule.block(i));
    if (loop == nullptr && !MayMeet(*schedule.block(i))) continue;
    for (unsigned other : schedule.waiting(i).set_bits()) {
      const BasicBlock* block = schedule.block(other);
      if (IsReturn(*block)) continue;
      if (loop == nullptr) return false;
      if (!loop->contains(block) && !IsBarrierOfAll(*block->getFirstNonPHIOrDbg(), shape)) return false;
    }
  }
  return true;
}

}  // namespace tutti::compiler
