#include "compiler/widen/lanes/lane_regions.h"

#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "compiler/widen/analysis/intrinsics.h"
#include "compiler/widen/analysis/shape_rules.h"

namespace tutti::compiler {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Loop;
using llvm::Value;

constexpr size_t kMostBlocks = 64;

// Cycles, of both ways to run a region. Only their ratio matters.
constexpr double kRounds = 8;       // of a loop
constexpr double kWaste = 2;        // rounds of the longest lane, to those of all lanes on average
constexpr double kGatherLane = 1.5;  // a lane's part of a gather or scatter
constexpr double kLaneAccess = 1.3;  // of one lane, with its check
constexpr double kLaneOperation = 0.3;
constexpr double kLaneLoop = 15;  // the end of a loop is not predicted
constexpr double kLaneChain = 12;  // a round that begins when the one before has loaded
constexpr double kMask = 3;  // of a block

bool IsMemory(const Instruction& instruction) { return llvm::isa<llvm::LoadInst, llvm::StoreInst>(instruction); }

// A type whose values are registers of one lane.
bool IsPlain(const llvm::Type* type) {
  if (type->isVoidTy() || type->isPointerTy() || type->isFloatTy() || type->isDoubleTy()) return true;
  return type->isIntegerTy(1) || type->isIntegerTy(8) || type->isIntegerTy(16) || type->isIntegerTy(32) ||
         type->isIntegerTy(64);
}

bool IsKnownType(const llvm::Type* type) {
  if (const auto* structure = llvm::dyn_cast<llvm::StructType>(type))
    return llvm::all_of(structure->elements(), IsPlain);
  return IsPlain(type->getScalarType());
}

class LaneRegionFinder {
 public:
  LaneRegionFinder(llvm::Function& scalar, const llvm::LoopInfo& loops, const llvm::DominatorTree& dominators,
                   const ShapeAnalysis& shapes, const WidenOptions& options)
      : loops_(loops), dominators_(dominators), post_dominators_(scalar), shapes_(shapes), options_(options) {}

  std::vector<LaneRegion> Find() {
    for (const Loop* loop : llvm::reverse(loops_)) Visit(*loop);  // LLVM's order is that of the last loop first
    Join();
    return std::move(regions_);
  }

 private:
  void Visit(const Loop& loop) {
    if (llvm::any_of(regions_, [&](const LaneRegion& region) { return region.blocks.contains(loop.getHeader()); }))
      return;
    if (LeavesLaneByLane(loop)) {
      LaneRegion region{.before = loop.getLoopPreheader(), .blocks = {}, .exit = ExitOf(loop)};
      if (Grow(region) && Pays(region)) return Add(std::move(region));
    }
    for (const Loop* inner : loop) Visit(*inner);
  }

  void Add(LaneRegion region) {
    llvm::erase_if(regions_, [&](const LaneRegion& other) { return region.blocks.contains(other.blocks.front()); });
    regions_.push_back(std::move(region));
  }

  // Lanes that count alike from different starts leave a loop in nearly the same round.
  bool DependsOnLane(const Value& condition) const {
    llvm::SmallPtrSet<const Value*, 8> seen;
    llvm::SmallVector<const Value*, 8> work{&condition};
    while (!work.empty()) {
      const Value* value = work.pop_back_val();
      if (!seen.insert(value).second || !shapes_.Of(value).is_varying()) continue;
      const auto* instruction = llvm::dyn_cast<Instruction>(value);
      if (instruction != nullptr && instruction->isBitwiseLogicOp()) {
        work.append(instruction->value_op_begin(), instruction->value_op_end());
      } else if (instruction == nullptr || !llvm::isa<llvm::CmpInst>(instruction) ||
                 llvm::any_of(instruction->operands(),
                              [&](const llvm::Use& operand) { return shapes_.Of(operand.get()).is_varying(); })) {
        return true;
      }
    }
    return false;
  }

  bool LeavesLaneByLane(const Loop& loop) const {
    llvm::SmallVector<BasicBlock*, 4> exiting;
    loop.getExitingBlocks(exiting);
    return llvm::any_of(exiting, [&](const BasicBlock* block) {
      const auto* branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
      return branch != nullptr && shapes_.IsDivergent(*block) && DependsOnLane(*branch->getCondition());
    });
  }

  // Where all ways out of the loop have come together.
  BasicBlock* ExitOf(const Loop& loop) const {
    const auto* node = post_dominators_.getNode(loop.getHeader());
    while (node != nullptr && node->getBlock() != nullptr && loop.contains(node->getBlock())) node = node->getIDom();
    return node != nullptr ? node->getBlock() : nullptr;
  }

  // Adds all blocks from `before` to `exit`, and moves `before` up to where all ways into them begin. False if that is
  // no region.
  bool Grow(LaneRegion& region) const {
    while (region.before != nullptr && region.exit != nullptr) {
      if (!AddBlocks(region)) return false;
      BasicBlock* before = region.before;
      for (BasicBlock* block : region.blocks) {
        for (BasicBlock* from : llvm::predecessors(block)) {
          if (!region.blocks.contains(from)) before = dominators_.findNearestCommonDominator(before, from);
        }
      }
      if (before == region.before) {
        return llvm::all_of(region.blocks, [&](const BasicBlock* block) {
          return llvm::all_of(*block,
                              [&](const Instruction& instruction) { return SharesPlainValues(region, instruction); });
        });
      }
      region.before = before;
    }
    return false;
  }

  bool AddBlocks(LaneRegion& region) const {
    region.blocks.clear();
    const auto add_successors = [&](BasicBlock& block) {
      for (BasicBlock* next : llvm::successors(&block)) {
        if (next != region.exit) region.blocks.insert(next);
      }
    };
    add_successors(*region.before);
    for (size_t i = 0; i < region.blocks.size(); ++i) {
      BasicBlock& block = *region.blocks[i];
      if (&block == region.before || region.blocks.size() > kMostBlocks || !IsAlone(block)) return false;
      add_successors(block);
    }
    return !region.blocks.empty() && loops_.getLoopFor(region.before) == loops_.getLoopFor(region.exit);
  }

  // What comes into the region and goes out of it by this instruction can be one lane's part of a vector.
  static bool SharesPlainValues(const LaneRegion& region, const Instruction& instruction) {
    const auto is_inside = [&](const Value& value) {
      const auto* other = llvm::dyn_cast<Instruction>(&value);
      return other == nullptr || region.blocks.contains(const_cast<BasicBlock*>(other->getParent()));
    };
    return llvm::all_of(instruction.operands(),
                        [&](const llvm::Use& operand) {
                          return llvm::isa<BasicBlock>(operand) || IsPlain(operand->getType()) ||
                                 (!llvm::isa<llvm::Argument>(operand) && is_inside(*operand.get()));
                        }) &&
           (IsPlain(instruction.getType()) ||
            llvm::all_of(instruction.users(), [&](const llvm::User* user) { return is_inside(*user); }));
  }

  static bool IsAlone(const BasicBlock& block) {
    return llvm::isa<llvm::BranchInst>(block.getTerminator()) &&
           llvm::all_of(block, [](const Instruction& instruction) { return IsAlone(instruction); });
  }

  static bool IsAlone(const Instruction& instruction) {
    if (instruction.isTerminator()) return true;
    if (!IsKnownType(instruction.getType())) return false;
    // Where a lane's copy of a variable lies depends on more than the lane's address.
    if (llvm::any_of(instruction.operands(), [](const llvm::Use& operand) {
          return operand->getType()->isPointerTy() && llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(operand));
        }))
      return false;
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return load->isSimple();
    if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction))
      return store->isSimple() && IsKnownType(store->getValueOperand()->getType());
    if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction))
      return IsElementwiseIntrinsic(*call) || llvm::isa<llvm::AssumeInst>(call) || IsOfThread(*call);
    return !instruction.mayReadOrWriteMemory() && !llvm::isa<llvm::AllocaInst>(instruction);
  }

  double Weight(const BasicBlock& block, unsigned outside) const {
    double weight = 1;
    for (unsigned depth = outside; depth < loops_.getLoopDepth(&block); ++depth) weight *= kRounds;
    return weight;
  }

  double WideCost(const Instruction& instruction) const {
    const unsigned vectors = options_.avx512 ? 1 : 2;
    if (IsMemory(instruction)) {
      const Value* pointer = llvm::getLoadStorePointerOperand(&instruction);
      return shapes_.Of(pointer).is_varying() ? kLanes * kGatherLane : 2 * vectors;
    }
    const llvm::Type* type = instruction.getType();
    if (type->isVoidTy() || llvm::isa<llvm::PHINode>(instruction)) return 0;
    if (!shapes_.Of(&instruction).is_varying()) return kLaneOperation;
    const unsigned bits = type->isPointerTy() ? 64 : std::max(type->getScalarSizeInBits(), 16u);
    return kLanes * bits / 512.0 * vectors;
  }

  // What a round loads decides where the next one loads: a list, a tree, a binary search. Then one lane's rounds wait
  // for each other, while those of 32 lanes are in flight together.
  static bool FollowsLoads(const Loop& loop) {
    llvm::SmallPtrSet<const Value*, 16> of_addresses;
    llvm::SmallVector<const Value*, 16> work;
    for (const BasicBlock* block : loop.blocks()) {
      for (const Instruction& instruction : *block) {
        if (llvm::isa<llvm::LoadInst>(instruction)) work.push_back(llvm::getLoadStorePointerOperand(&instruction));
      }
    }
    while (!work.empty()) {
      const auto* instruction = llvm::dyn_cast<Instruction>(work.pop_back_val());
      if (instruction == nullptr || !loop.contains(instruction) || llvm::isa<llvm::LoadInst>(instruction) ||
          !of_addresses.insert(instruction).second)
        continue;
      const auto* phi = llvm::dyn_cast<llvm::PHINode>(instruction);
      if (phi == nullptr || phi->getParent() != loop.getHeader()) {
        work.append(instruction->value_op_begin(), instruction->value_op_end());
      } else if (DependsOnLoad(loop, *phi->getIncomingValueForBlock(loop.getLoopLatch()))) {
        return true;
      }
    }
    return false;
  }

  // By value, or by the choice of one. Not by what the loop's heads bring from earlier rounds.
  static bool DependsOnLoad(const Loop& loop, const Value& value) {
    llvm::SmallPtrSet<const Value*, 16> seen;
    llvm::SmallVector<const Value*, 16> work{&value};
    while (!work.empty()) {
      const auto* instruction = llvm::dyn_cast<Instruction>(work.pop_back_val());
      if (instruction == nullptr || !loop.contains(instruction) || !seen.insert(instruction).second) continue;
      if (llvm::isa<llvm::LoadInst>(instruction)) return true;
      if (llvm::isa<llvm::PHINode>(instruction)) {
        if (instruction->getParent() == loop.getHeader()) continue;
        if (instruction->getNumOperands() > 1) return true;
      }
      work.append(instruction->value_op_begin(), instruction->value_op_end());
    }
    return false;
  }

  bool Pays(const LaneRegion& region) const {
    if (options_.lane_after_lane) return true;
    const unsigned outside = loops_.getLoopDepth(region.before);
    double wide = 0, serial = 0;
    for (const BasicBlock* block : region.blocks) {
      const double weight = Weight(*block, outside);
      double once_wide = kMask, once_serial = 0;
      for (const Instruction& instruction : *block) {
        once_wide += WideCost(instruction);
        if (llvm::isa<llvm::PHINode, llvm::CastInst>(instruction)) continue;
        once_serial += IsMemory(instruction) ? kLaneAccess : kLaneOperation;
      }
      wide += weight * once_wide * kWaste;
      serial += weight * once_serial * kLanes;
      if (loops_.isLoopHeader(block)) {
        serial += weight / kRounds * kLaneLoop * kLanes;
        if (FollowsLoads(*loops_.getLoopFor(block))) serial += weight * kLaneChain * kLanes;
      }
    }
    return serial < wide;
  }

  // Regions that follow each other, such as the rounds that are unrolled and the rest of them, are one if nothing
  // between them is better made by the warp.
  void Join() {
    for (size_t i = 0; i + 1 < regions_.size();) {
      if (auto both = Joined(regions_[i], regions_[i + 1])) {
        // In place of the two, and of any that lies between them.
        const auto is_inside = [&](const LaneRegion& other) { return both->blocks.contains(other.blocks.front()); };
        const auto at = regions_.begin() + static_cast<ptrdiff_t>(i);
        const ptrdiff_t before = std::count_if(regions_.begin(), at, std::not_fn(is_inside));
        llvm::erase_if(regions_, is_inside);
        regions_.insert(regions_.begin() + before, std::move(*both));
        i = 0;
      } else {
        ++i;
      }
    }
  }

  std::optional<LaneRegion> Joined(const LaneRegion& first, const LaneRegion& second) const {
    LaneRegion both;
    both.before = dominators_.findNearestCommonDominator(first.before, second.before);
    both.exit = post_dominators_.findNearestCommonDominator(first.exit, second.exit);
    if (both.before == nullptr || AreAlternatives(first, second, *both.before)) return std::nullopt;
    if (!Grow(both)) return std::nullopt;
    for (BasicBlock* block : both.blocks) {
      if (first.blocks.contains(block) || second.blocks.contains(block)) continue;
      if (llvm::any_of(*block, IsMemory)) return std::nullopt;
    }
    if (!both.blocks.contains(first.blocks.front()) || !both.blocks.contains(second.blocks.front()))
      return std::nullopt;
    return both;
  }

  // A lane comes through one of them on each way from `before`.
  bool AreAlternatives(const LaneRegion& first, const LaneRegion& second, BasicBlock& before) const {
    const llvm::SmallPtrSet<BasicBlock*, 1> apart{&before};
    const auto follows = [&](const LaneRegion& one, const LaneRegion& other) {
      return llvm::isPotentiallyReachable(one.blocks.front(), other.blocks.front(), &apart, &dominators_, &loops_);
    };
    return !follows(first, second) && !follows(second, first);
  }

  const llvm::LoopInfo& loops_;
  const llvm::DominatorTree& dominators_;
  const llvm::PostDominatorTree post_dominators_;
  const ShapeAnalysis& shapes_;
  const WidenOptions& options_;
  std::vector<LaneRegion> regions_;
};

}  // namespace

bool IsOfThread(const Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  if (call == nullptr || call->arg_size() != 0) return false;
  const Intrinsic kind = ClassifyCall(*call).kind;
  return kind == Intrinsic::kBlockField || kind == Intrinsic::kTid || kind == Intrinsic::kLaneid;
}

std::vector<LaneRegion> FindLaneRegions(llvm::Function& scalar, const llvm::LoopInfo& loops,
                                        const llvm::DominatorTree& dominators, const ShapeAnalysis& shapes,
                                        const WidenOptions& options) {
  return LaneRegionFinder(scalar, loops, dominators, shapes, options).Find();
}

}  // namespace tutti::compiler
