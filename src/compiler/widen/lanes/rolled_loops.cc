#include "compiler/widen/lanes/rolled_loops.h"

#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/ScalarEvolutionExpander.h>

#include <map>
#include <optional>
#include <set>

#include "compiler/widen/lanes/index_sum.h"
#include "compiler/widen/lanes/lane_rounds.h"
#include "compiler/widen/lanes/two_loops.h"

namespace tutti::compiler {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Loop;
using llvm::PHINode;
using llvm::SCEV;
using llvm::Value;

constexpr unsigned kMostRoundsLog2 = 5;  // of the single loop, in one of the unrolled
constexpr size_t kMostQuestions = 6;  // whether the loops fit each other
constexpr size_t kMostCompared = 1 << 14;  // pairs of values

class Roller {
 public:
  Roller(const TwoLoops& two, llvm::ScalarEvolution& evolution)
      : two_(two),
        evolution_(evolution),
        expander_(evolution, two.entry->getModule()->getDataLayout(), "rolled"),
        at_entry_(two.entry->getTerminator()) {
    expander_.disableCanonicalMode();
  }

  // False if the loops are not what they look like; nothing is changed then.
  bool Roll() {
    llvm::SCEVExpanderCleaner cleaner(expander_);
    if (!FindRoles() || !StaysInside() || !FindRounds() || !MatchResults() || questions_.size() > kMostQuestions) {
      DropSelections();
      return false;
    }
    cleaner.markResultUsed();
    Rewrite();
    return true;
  }

 private:
  bool single_is_first() const { return single_ == two_.first; }
  const BasicBlock* before_single() const { return single_is_first() ? two_.before_first : two_.before_second; }

  bool FindRoles() {
    const size_t first = LoadsOf(*two_.first), second = LoadsOf(*two_.second);
    const size_t few = std::min(first, second), many = std::max(first, second);
    if (few == 0 || many % few != 0 || many / few < 2 || many / few > size_t{1} << kMostRoundsLog2) return false;
    rounds_ = static_cast<unsigned>(many / few);
    single_ = first < second ? two_.first : two_.second;
    unrolled_ = first < second ? two_.second : two_.first;
    return true;
  }

  // What the join knows is for the second loop, or goes to the exit by phis.
  bool StaysInside() const {
    for (const Instruction& instruction : *two_.join) {
      if (!llvm::isa<PHINode>(instruction) && (instruction.mayHaveSideEffects() || instruction.mayReadFromMemory()))
        return false;
      for (const llvm::Use& use : instruction.uses()) {
        const auto* user = llvm::cast<Instruction>(use.getUser());
        const BasicBlock* block = user->getParent();
        if (block == two_.join || block == two_.before_second || block == two_.second->getHeader()) continue;
        const auto* phi = llvm::dyn_cast<PHINode>(user);
        if (phi == nullptr || block != two_.exit || phi->getIncomingBlock(use) != two_.join) return false;
      }
    }
    return llvm::all_of(*before_single(), [](const Instruction& instruction) {
      return !instruction.mayHaveSideEffects() && !instruction.mayReadFromMemory();
    });
  }

  bool CanExpand(const SCEV* what) const {
    return !llvm::isa<llvm::SCEVCouldNotCompute>(what) && expander_.isSafeToExpandAt(what, at_entry_);
  }
  Value* Expanded(const SCEV* what) { return expander_.expandCodeFor(what, what->getType(), at_entry_); }

  // What is known at the join, as it will be, known at the entry.
  const SCEV* FromEntry(const SCEV* what) { return llvm::SCEVParameterRewriter::rewrite(what, evolution_, as_it_is_); }
  // The same if the first loop is left out.
  const SCEV* WithoutFirst(const SCEV* what) {
    return llvm::SCEVParameterRewriter::rewrite(what, evolution_, without_first_);
  }

  // In how many rounds a loop goes on, at its start.
  struct Rounds {
    const SCEV* goes_on = nullptr;  // null: not known
    const SCEV* distance = nullptr;  // that its counter goes. Unless null: must be a multiple of `step`, and not 0
    uint64_t step = 1;
  };
  Rounds RoundsOf(const Loop& loop) {
    const SCEV* known = evolution_.getBackedgeTakenCount(&loop);
    if (!llvm::isa<llvm::SCEVCouldNotCompute>(known)) return {.goes_on = known};
    const auto counted = FindCountedLoop(*loop.getHeader());
    if (!counted) return {};
    const SCEV *start = evolution_.getSCEV(counted->first), *end = evolution_.getSCEV(counted->end);
    Rounds rounds{
        .distance = counted->counts_down ? evolution_.getMinusSCEV(start, end) : evolution_.getMinusSCEV(end, start),
        .step = uint64_t{1} << counted->step_log2};
    llvm::Type* type = rounds.distance->getType();
    rounds.goes_on = evolution_.getMinusSCEV(
        evolution_.getUDivExpr(rounds.distance, evolution_.getConstant(type, rounds.step)), evolution_.getOne(type));
    return rounds;
  }

  // The sum of both loops' rounds must be what it says.
  bool AskForRounds(llvm::IRBuilder<>& builder, const Rounds& loop, Value* skips, Value* rounds) {
    const uint64_t most = uint64_t{1} << (counter_->getIntegerBitWidth() - kMostRoundsLog2 - 1);
    // Less one: the number itself may be 2^32, which is 0.
    Value* goes_on = Selection(builder.CreateSub(rounds, llvm::ConstantInt::get(counter_, 1)));
    Value* are_few = Selection(builder.CreateICmpULT(goes_on, llvm::ConstantInt::get(counter_, most)));
    fits_.push_back(Selection(builder.CreateOr(skips, are_few)));
    if (loop.distance == nullptr) return true;
    if (!CanExpand(loop.distance)) return false;
    llvm::Type* type = loop.distance->getType();
    fits_.push_back(Selection(builder.CreateOr(skips, Selection(builder.CreateIsNotNull(Expanded(loop.distance))))));
    if (loop.step == 1) return true;
    Value* rest = Selection(builder.CreateAnd(Expanded(loop.distance), llvm::ConstantInt::get(type, loop.step - 1)));
    fits_.push_back(Selection(builder.CreateIsNull(rest)));
    return true;
  }

  bool FindRounds() {
    Rounds first = RoundsOf(*two_.first), second = RoundsOf(*two_.second);
    if (first.goes_on == nullptr || !CanExpand(first.goes_on) || second.goes_on == nullptr) return false;
    llvm::IRBuilder<> builder(at_entry_);
    const auto* branch = llvm::cast<llvm::BranchInst>(at_entry_);
    skips_first_ = branch->getCondition();
    if (branch->getSuccessor(0) != two_.join) skips_first_ = Selection(builder.CreateNot(skips_first_));
    for (PHINode& phi : two_.join->phis()) {
      Value* without = phi.getIncomingValueForBlock(two_.entry);
      if (!evolution_.isSCEVable(phi.getType()) || !phi.getType()->isIntegerTy()) continue;
      without_first_[&phi] = evolution_.getSCEV(without);
      const SCEV* behind = evolution_.getSCEVAtScope(Behind(phi, two_.after_first), two_.first->getParentLoop());
      if (!CanExpand(behind)) continue;
      Value* value = Expanded(behind);
      as_it_is_[&phi] = evolution_.getUnknown(Selection(builder.CreateSelect(skips_first_, without, value)));
    }
    if (!FindSkipsSecond(builder)) return false;
    if (second.distance != nullptr) second.distance = FromEntry(second.distance);
    second.goes_on = FromEntry(second.goes_on);
    const auto is_narrow = [](const Rounds& loop) { return loop.goes_on->getType()->getIntegerBitWidth() <= 32; };
    counter_ = is_narrow(first) && is_narrow(second) ? builder.getInt32Ty() : builder.getInt64Ty();
    const SCEV *of_first = Counted(first), *of_second = Counted(second);
    if (!CanExpand(of_second)) return false;
    Value* first_rounds = Expanded(of_first);
    Value* second_rounds = Expanded(of_second);
    if (!AskForRounds(builder, first, skips_first_, first_rounds) ||
        !AskForRounds(builder, second, skips_second_, second_rounds))
      return false;
    Value* none = llvm::ConstantInt::get(counter_, 0);
    first_made_ = Selection(builder.CreateSelect(skips_first_, none, first_rounds));
    second_made_ = Selection(builder.CreateSelect(skips_second_, none, second_rounds));
    return true;
  }

  const SCEV* Counted(const Rounds& loop) {
    return evolution_.getAddExpr(evolution_.getNoopOrZeroExtend(loop.goes_on, counter_), evolution_.getOne(counter_));
  }

  bool FindSkipsSecond(llvm::IRBuilder<>& builder) {
    const auto* branch = llvm::cast<llvm::BranchInst>(two_.join->getTerminator());
    Value* condition = branch->getCondition();
    if (const auto* defined = llvm::dyn_cast<Instruction>(condition);
        defined != nullptr && defined->getParent() == two_.join) {
      const auto* asks = llvm::dyn_cast<llvm::ICmpInst>(defined);
      if (asks == nullptr || !asks->getOperand(0)->getType()->isIntegerTy()) return false;
      Value* sides[2];
      for (unsigned i = 0; i < 2; ++i) {
        const SCEV* side = FromEntry(evolution_.getSCEV(asks->getOperand(i)));
        if (!CanExpand(side)) return false;
        sides[i] = Expanded(side);
      }
      condition = Selection(builder.CreateICmp(asks->getPredicate(), sides[0], sides[1]));
    }
    if (branch->getSuccessor(0) != two_.exit) condition = Selection(builder.CreateNot(condition));
    skips_second_ = condition;
    return true;
  }

  // The exit gets the same of the single loop's last round as of the unrolled one's.
  bool MatchResults() {
    for (const PHINode& phi : two_.exit->phis()) {
      Value* skipped = phi.getIncomingValueForBlock(two_.join);
      Value* last = Behind(phi, two_.after_second);
      const auto* joined = llvm::dyn_cast<PHINode>(skipped);
      if (joined == nullptr || joined->getParent() != two_.join) {
        if (!AreEqual(skipped, last)) return false;
        continue;
      }
      Value* of_first = Behind(*joined, two_.after_first);
      if (!IsSame(single_is_first() ? last : of_first, single_is_first() ? of_first : last, rounds_ - 1)) return false;
    }
    // By induction: a round of the unrolled loop leaves behind what several of the other one do.
    for (size_t i = 0; i < carried_.size(); ++i) {
      const auto [many, one] = carried_[i];
      if (!IsSame(many->getIncomingValueForBlock(unrolled_->getHeader()),
                  one->getIncomingValueForBlock(single_->getHeader()), rounds_ - 1))
        return false;
    }
    return LoadAlike();
  }

  // Each load of the one loop is made in the other, too: none is of a value that nobody wants.
  bool LoadAlike() const {
    std::set<const Value*> loads;
    for (const auto& [key, is_same] : known_) {
      const auto* load = llvm::dyn_cast<llvm::LoadInst>(std::get<1>(key));
      if (is_same && load != nullptr && single_->contains(load)) loads.insert(std::get<0>(key));
    }
    return loads.size() == LoadsOf(*unrolled_);
  }

  // Whether `many`, in each round of the unrolled loop, is what `one` is in the `round`th of the single loop's rounds
  // that it stands for; if all questions are answered with yes.
  bool IsSame(Value* many, Value* one, unsigned round) {
    const auto key = std::make_tuple(static_cast<const Value*>(many), static_cast<const Value*>(one), round);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    if (known_.size() > kMostCompared) return false;
    bool is_same = AreEqual(many, one);
    if (!is_same) {
      const auto alike = CountAlike(*many, *one, round);
      is_same = alike ? *alike : ComputeAlike(many, one, round);
    }
    return known_[key] = is_same;
  }

  // A value from outside.
  bool AreEqual(const Value* many, const Value* one) const {
    if (many != one) return false;
    const auto* defined = llvm::dyn_cast<Instruction>(many);
    return defined == nullptr ||
           (defined->getParent() != two_.join && defined->getParent() != two_.before_first &&
            defined->getParent() != two_.before_second && defined->getParent() != two_.first->getHeader() &&
            defined->getParent() != two_.second->getHeader());
  }

  struct Steps {
    const SCEV *start, *step;
  };
  std::optional<Steps> StepsOf(const Value& value, const Loop& loop) {
    if (!value.getType()->isIntegerTy() || value.getType()->isIntegerTy(1)) return std::nullopt;
    const SCEV* known = evolution_.getSCEV(const_cast<Value*>(&value));
    if (evolution_.isLoopInvariant(known, &loop)) return Steps{known, evolution_.getZero(value.getType())};
    const auto* steps = llvm::dyn_cast<llvm::SCEVAddRecExpr>(known);
    if (steps == nullptr || steps->getLoop() != &loop || !steps->isAffine() ||
        !llvm::isa<llvm::SCEVConstant>(steps->getOperand(1)))
      return std::nullopt;
    return Steps{steps->getStart(), steps->getOperand(1)};
  }

  // None if one of them is no counter.
  std::optional<bool> CountAlike(const Value& many, const Value& one, unsigned round) {
    if (many.getType() != one.getType()) return false;
    const auto by_many = StepsOf(many, *unrolled_);
    const auto by_one = StepsOf(one, *single_);
    if (!by_many || !by_one || !KeepsItsSteps(one, *single_->getHeader())) return std::nullopt;
    if (by_many->step->isZero() && by_one->step->isZero()) return by_many->start == by_one->start;
    llvm::Type* type = many.getType();
    const auto times = [&](uint64_t count) {
      return evolution_.getMulExpr(by_one->step, evolution_.getConstant(type, count));
    };
    if (by_many->step != times(rounds_)) return false;
    const auto made = [&](Value* rounds, uint64_t count) {
      return evolution_.getMulExpr(times(count),
                                   evolution_.getTruncateOrZeroExtend(evolution_.getUnknown(rounds), type));
    };
    if (single_is_first())
      return Ask(FromEntry(by_many->start), evolution_.getAddExpr(by_one->start, made(first_made_, 1), times(round)));
    const SCEV* start = WithoutFirst(by_one->start);
    return Ask(by_many->start, evolution_.getAddExpr(start, times(round))) &&
           Ask(FromEntry(by_one->start), evolution_.getAddExpr(start, made(first_made_, rounds_)));
  }

  // False if it cannot be asked.
  bool Ask(const SCEV* left, const SCEV* right) {
    const SCEV* apart = evolution_.getMinusSCEV(left, right);
    if (apart->isZero() || questions_.contains(apart)) return true;
    if (llvm::isa<llvm::SCEVConstant>(apart) || !CanExpand(apart)) return false;
    questions_.insert(apart);
    return true;
  }

  // i1: `apart` is 0.
  Value* IsNothing(llvm::IRBuilder<>& builder, const SCEV* apart) {
    const auto sum = IndexSumOf(*apart);
    return sum ? Adds(builder, Expanded(sum->sum), Expanded(sum->one), Expanded(sum->other))
               : builder.CreateIsNull(Expanded(apart));
  }

  bool ComputeAlike(Value* many, Value* one, unsigned round) {
    auto* of_many = llvm::dyn_cast<Instruction>(many);
    auto* of_one = llvm::dyn_cast<Instruction>(one);
    if (of_one == nullptr || of_one->getParent() != single_->getHeader()) return false;
    if (const auto* phi = llvm::dyn_cast<PHINode>(of_one)) {
      if (round != 0) return IsSame(many, phi->getIncomingValueForBlock(single_->getHeader()), round - 1);
      auto* carried = llvm::dyn_cast<PHINode>(many);
      return carried != nullptr && carried->getParent() == unrolled_->getHeader() && StartAlike(*carried, *phi);
    }
    if (of_many == nullptr || of_many->getParent() != unrolled_->getHeader() ||
        !of_many->isSameOperationAs(of_one, Instruction::CompareIgnoringAlignment) ||
        !of_many->hasSameSubclassOptionalData(of_one))
      return false;
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(of_one);
        load != nullptr && load->getAlign() != llvm::cast<llvm::LoadInst>(of_many)->getAlign())
      return false;
    const auto same = [&](unsigned i, unsigned k) {
      return IsSame(of_many->getOperand(i), of_one->getOperand(k), round);
    };
    const unsigned count = of_many->getNumOperands();
    bool all = true;
    for (unsigned i = 0; i < count && all; ++i) all = same(i, i);
    if (all || !of_many->isCommutative() || count < 2) return all;
    all = same(0, 1) && same(1, 0);
    for (unsigned i = 2; i < count && all; ++i) all = same(i, i);
    return all;
  }

  // The first of the two loops begins with the same, and the second with what the first left, or the same if it was
  // left out.
  bool StartAlike(PHINode& many, const PHINode& one) {
    if (many.getType() != one.getType()) return false;
    const PHINode& of_first = single_is_first() ? one : many;
    const PHINode& of_second = single_is_first() ? many : one;
    const auto* joined = llvm::dyn_cast<PHINode>(of_second.getIncomingValueForBlock(two_.before_second));
    if (joined == nullptr || joined->getParent() != two_.join ||
        joined->getIncomingValueForBlock(two_.entry) != of_first.getIncomingValueForBlock(two_.before_first) ||
        Behind(*joined, two_.after_first) != of_first.getIncomingValueForBlock(two_.first->getHeader()))
      return false;
    const std::pair<PHINode*, const PHINode*> pair{&many, &one};
    if (!llvm::is_contained(carried_, pair)) carried_.push_back(pair);
    return true;
  }

  // In front of the two, a third one that makes all rounds, where they fit each other.
  void Rewrite() {
    llvm::IRBuilder<> builder(at_entry_);
    // What is computed for a loop that is left out may be poison.
    Value* fits = builder.getTrue();
    for (const SCEV* apart : questions_) fits_.push_back(IsNothing(builder, apart));
    for (Value* fit : fits_) fits = builder.CreateAnd(fits, builder.CreateFreeze(fit));
    Value* few = single_is_first() ? first_made_ : second_made_;
    Value* many = single_is_first() ? second_made_ : first_made_;
    Value* all = builder.CreateFreeze(
        builder.CreateAdd(few, builder.CreateMul(many, llvm::ConstantInt::get(counter_, rounds_))));
    fits = builder.CreateAnd(fits, builder.CreateIsNotNull(all));

    llvm::LLVMContext& context = two_.entry->getContext();
    llvm::Function* function = two_.entry->getParent();
    BasicBlock* apart = llvm::SplitBlock(two_.entry, at_entry_);
    before_ = BasicBlock::Create(context, "rolled.before", function, apart);
    loop_ = BasicBlock::Create(context, "rolled", function, apart);
    BasicBlock* after = BasicBlock::Create(context, "rolled.after", function, apart);
    two_.entry->getTerminator()->eraseFromParent();
    builder.SetInsertPoint(two_.entry);
    builder.CreateCondBr(fits, before_, apart, llvm::MDBuilder(context).createLikelyBranchWeights());
    builder.SetInsertPoint(before_);
    at_start_ = builder.CreateBr(loop_);
    CopyLoop(all, after);
    builder.SetInsertPoint(after);
    builder.CreateBr(two_.exit);
    for (PHINode& phi : two_.exit->phis()) phi.addIncoming(ResultOf(phi, after), after);
    DropDead(*loop_);
  }

  // Those of the single loop, which has made as many rounds as `rounds`, not 0, says.
  void CopyLoop(Value* rounds, BasicBlock* after) {
    const BasicBlock* block = single_->getHeader();
    llvm::IRBuilder<> builder(loop_);
    PHINode* left = builder.CreatePHI(counter_, 2, "left");
    for (const Instruction& instruction : *block) {
      if (instruction.isTerminator()) break;
      Instruction* copy = builder.Insert(instruction.clone());
      copy->dropPoisonGeneratingFlags();  // may hold for few rounds only
      copies_[&instruction] = copy;
    }
    for (const Instruction& instruction : *block) {
      auto* copy = llvm::cast_or_null<Instruction>(copies_.lookup(&instruction));
      if (copy == nullptr) continue;
      if (auto* phi = llvm::dyn_cast<PHINode>(copy)) {
        phi->replaceIncomingBlockWith(block, loop_);
        phi->replaceIncomingBlockWith(before_single(), before_);
      }
      for (llvm::Use& operand : copy->operands()) operand.set(Copied(operand.get()));
    }
    Value* next = builder.CreateAdd(left, llvm::ConstantInt::getSigned(left->getType(), -1));
    left->addIncoming(rounds, before_);
    left->addIncoming(next, loop_);
    builder.CreateCondBr(builder.CreateICmpNE(next, llvm::ConstantInt::get(counter_, 0)), loop_, after);
  }

  // What the single loop uses, as it is if the first loop is left out.
  Value* Copied(Value* value) {
    auto* defined = llvm::dyn_cast<Instruction>(value);
    if (defined == nullptr) return value;
    if (Value* known = copies_.lookup(defined)) return known;
    const BasicBlock* block = defined->getParent();
    if (!single_is_first() && block == two_.join && llvm::isa<PHINode>(defined))
      return llvm::cast<PHINode>(defined)->getIncomingValueForBlock(at_entry_->getParent());
    if (block != before_single() && (single_is_first() || block != two_.join)) return value;
    Instruction* copy = defined->clone();
    copy->dropPoisonGeneratingFlags();
    for (llvm::Use& operand : copy->operands()) operand.set(Copied(operand.get()));
    copy->insertBefore(at_start_);
    copies_[defined] = copy;
    return copy;
  }

  // By a phi behind the loop, as everywhere.
  Value* ResultOf(const PHINode& phi, BasicBlock* after) {
    Value* value = phi.getIncomingValueForBlock(two_.join);
    const auto* joined = llvm::dyn_cast<PHINode>(value);
    if (joined == nullptr || joined->getParent() != two_.join) return value;
    Value* last = Behind(single_is_first() ? *joined : phi, single_is_first() ? two_.after_first : two_.after_second);
    PHINode* passed = PHINode::Create(phi.getType(), 1, "", after->begin());
    passed->addIncoming(Copied(last), loop_);
    return passed;
  }

  // Made to find out; nobody else uses it yet.
  Value* Selection(Value* made) {
    if (auto* instruction = llvm::dyn_cast<Instruction>(made)) made_.push_back(instruction);
    return made;
  }
  void DropSelections() {
    for (Instruction* instruction : llvm::reverse(made_)) {
      evolution_.forgetValue(instruction);
      if (instruction->use_empty()) instruction->eraseFromParent();
    }
  }

  const TwoLoops& two_;
  llvm::ScalarEvolution& evolution_;
  llvm::SCEVExpander expander_;
  Instruction* at_entry_;
  const Loop *single_ = nullptr, *unrolled_ = nullptr;
  unsigned rounds_ = 0;  // of the single loop, in one of the unrolled
  llvm::ValueToSCEVMapTy as_it_is_, without_first_;  // of the join's phis
  Value *skips_first_ = nullptr, *skips_second_ = nullptr;
  llvm::IntegerType* counter_ = nullptr;  // of rounds
  Value *first_made_ = nullptr, *second_made_ = nullptr;  // 0 if it is left out
  llvm::SmallVector<Value*, 8> fits_;
  llvm::SmallSetVector<const SCEV*, 8> questions_;  // what must be 0
  std::map<std::tuple<const Value*, const Value*, unsigned>, bool> known_;
  std::vector<std::pair<PHINode*, const PHINode*>> carried_;
  BasicBlock *before_ = nullptr, *loop_ = nullptr;  // made
  Instruction* at_start_ = nullptr;  // of `before_`
  llvm::DenseMap<const Value*, Value*> copies_;  // of the single loop, and of what is in front of it
  llvm::SmallVector<Instruction*, 16> made_;
};

bool Roll(const TwoLoops& two, llvm::LoopInfo& loops, llvm::DominatorTree& dominators) {
  llvm::Function& function = *two.entry->getParent();
  const llvm::TargetLibraryInfoImpl known(llvm::Triple(function.getParent()->getTargetTriple()));
  llvm::TargetLibraryInfo library(known);
  llvm::AssumptionCache assumptions(function);
  llvm::ScalarEvolution evolution(function, library, assumptions, dominators, loops);
  return Roller(two, evolution).Roll();
}

}  // namespace

bool RollLoops(llvm::ArrayRef<LaneRegion> regions, llvm::LoopInfo& loops, llvm::DominatorTree& dominators) {
  bool rolled = false;
  for (const LaneRegion& region : regions) {
    for (BasicBlock* block : region.blocks) {
      const Loop* loop = loops.getLoopFor(block);
      if (loop == nullptr || loop->getHeader() != block) continue;
      const auto two = TwoLoopsFrom(*loop, loops);
      if (!two || !region.blocks.contains(two->second->getHeader()) || !Roll(*two, loops, dominators)) continue;
      rolled = true;
      dominators.recalculate(*block->getParent());
      loops.releaseMemory();
      loops.analyze(dominators);
    }
  }
  return rolled;
}

}  // namespace tutti::compiler
