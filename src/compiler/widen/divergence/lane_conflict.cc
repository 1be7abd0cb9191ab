#include "compiler/widen/divergence/lane_conflict.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Instructions.h>

#include <set>

#include "compiler/widen/analysis/intrinsics.h"
#include "compiler/widen/divergence/spin_loops.h"

namespace tutti::compiler {
namespace {

using llvm::BasicBlock;

class ConflictFinder {
 public:
  ConflictFinder(const llvm::DominatorTree& dominators, const Schedule& schedule, const ShapeAnalysis& shapes)
      : dominators_(dominators), schedule_(schedule), shapes_(shapes) {}

  bool Conflicts(const llvm::Loop& loop) const {
    llvm::BitVector others(schedule_.size());
    const bool one_lane = HasOneLane(*loop.getHeader());
    if (!one_lane && CountAttempts(loop) > 1) return true;
    if (one_lane) {
      // A single lane leaves nobody behind: lanes elsewhere were pending before the loop.
      const BasicBlock* before = loop.getLoopPreheader();
      if (before != nullptr) others = schedule_.waiting(schedule_.index(before));
      others.reset(schedule_.index(loop.getHeader()));
    } else {
      for (const BasicBlock* block : loop.blocks()) others |= schedule_.waiting(schedule_.index(block));
      for (const BasicBlock* block : loop.blocks()) others.reset(schedule_.index(block));
    }
    return MayWrite(others);
  }

 private:
  // The value differs between any two lanes.
  static bool IsDistinct(const Shape& shape) {
    if (!shape.is_runs() || shape.run() != kLanes || !shape.wraps().empty()) return false;
    std::set<int64_t> offsets;
    for (unsigned lane = 0; lane < kLanes; ++lane) offsets.insert(shape.offset(lane));
    return offsets.size() == kLanes;
  }

  // The block runs only where a value that differs between any two lanes equals one that does not.
  bool HasOneLane(const BasicBlock& block) const {
    for (const auto* node = dominators_.getNode(&block); node != nullptr && node->getIDom() != nullptr;
         node = node->getIDom()) {
      const auto* branch = llvm::dyn_cast<llvm::BranchInst>(node->getIDom()->getBlock()->getTerminator());
      if (branch == nullptr || !branch->isConditional()) continue;
      const auto* compare = llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
      if (compare == nullptr || !compare->isEquality()) continue;
      const unsigned equal = compare->getPredicate() == llvm::ICmpInst::ICMP_EQ ? 0 : 1;
      const llvm::BasicBlockEdge edge(branch->getParent(), branch->getSuccessor(equal));
      if (branch->getSuccessor(0) == branch->getSuccessor(1) || !dominators_.dominates(edge, &block)) continue;
      const Shape &a = shapes_.Of(compare->getOperand(0)), &b = shapes_.Of(compare->getOperand(1));
      if ((IsDistinct(a) && b.is_uniform()) || (a.is_uniform() && IsDistinct(b))) return true;
    }
    return false;
  }

  enum class Effect { kNone, kWrites, kMeets };

  static Effect EffectOf(const llvm::Instruction& instruction) {
    if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
      const llvm::Function* callee = call->getCalledFunction();
      if (callee != nullptr && callee->isIntrinsic()) return Effect::kNone;
      const Intrinsic kind = ClassifyCall(*call).kind;
      if (IsBarrier(kind)) return Effect::kMeets;
      switch (kind) {
        case Intrinsic::kNone:
        case Intrinsic::kTensorCopy:
        case Intrinsic::kDeviceRuntime:  // a grid that it launches may
        case Intrinsic::kIndirectCall:
        case Intrinsic::kUnknown: return Effect::kWrites;
        default: return Effect::kNone;
      }
    }
    if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      const bool own = llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(store->getPointerOperand()));
      return own || store->getPointerAddressSpace() == 5 ? Effect::kNone : Effect::kWrites;
    }
    return llvm::isa<llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst>(instruction) ? Effect::kWrites : Effect::kNone;
  }

  // Whether a write is reachable from these blocks without passing a barrier.
  bool MayWrite(llvm::BitVector from) const {
    llvm::BitVector seen = from;
    for (int i = from.find_first(); i >= 0; i = from.find_first()) {
      from.reset(static_cast<unsigned>(i));
      const BasicBlock* block = schedule_.block(static_cast<unsigned>(i));
      Effect effect = Effect::kNone;
      for (const llvm::Instruction& instruction : *block) {
        effect = EffectOf(instruction);
        if (effect != Effect::kNone) break;
      }
      if (effect == Effect::kWrites) return true;
      if (effect == Effect::kMeets) continue;
      for (const BasicBlock* to : llvm::successors(block)) {
        const unsigned next = schedule_.index(to);
        if (seen.test(next)) continue;
        seen.set(next);
        from.set(next);
      }
    }
    return false;
  }

  const llvm::DominatorTree& dominators_;
  const Schedule& schedule_;
  const ShapeAnalysis& shapes_;
};

}  // namespace

bool HasLaneConflict(const llvm::LoopInfo& loops, const llvm::DominatorTree& dominators, const Schedule& schedule,
                     const ShapeAnalysis& shapes) {
  const ConflictFinder finder(dominators, schedule, shapes);
  return llvm::any_of(loops.getLoopsInPreorder(),
                      [&](const llvm::Loop* loop) { return IsSpinLoop(loops, *loop) && finder.Conflicts(*loop); });
}

}  // namespace tutti::compiler
