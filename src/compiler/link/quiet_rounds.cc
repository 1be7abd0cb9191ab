#include "compiler/link/quiet_rounds.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "compiler/link/sink_rare.h"

namespace tutti::compiler {
namespace {

constexpr unsigned kRounds = 4;  // of one question
// Of a round, in instructions as widening writes them, cold paths aside. A longer one costs as much as the question.
constexpr size_t kMostInstructions = 64;
constexpr unsigned kMostDepth = 8;  // of what a value was made of

// It makes no poison of numbers, whatever they are, once its flags are gone.
bool IsTotal(const llvm::Instruction& instruction) {
  if (llvm::isa<llvm::FreezeInst, llvm::CmpInst, llvm::SelectInst, llvm::PHINode, llvm::ShuffleVectorInst>(instruction))
    return true;
  if (const auto* cast = llvm::dyn_cast<llvm::CastInst>(&instruction))
    return cast->getOpcode() != llvm::Instruction::FPToSI && cast->getOpcode() != llvm::Instruction::FPToUI;
  if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) {
    switch (call->getIntrinsicID()) {
      case llvm::Intrinsic::bitreverse:
      case llvm::Intrinsic::bswap:
      case llvm::Intrinsic::copysign:
      case llvm::Intrinsic::ctpop:
      case llvm::Intrinsic::fabs:
      case llvm::Intrinsic::fma:
      case llvm::Intrinsic::fshl:
      case llvm::Intrinsic::fshr:
      case llvm::Intrinsic::maximum:
      case llvm::Intrinsic::maxnum:
      case llvm::Intrinsic::minimum:
      case llvm::Intrinsic::minnum:
      case llvm::Intrinsic::smax:
      case llvm::Intrinsic::smin:
      case llvm::Intrinsic::umax:
      case llvm::Intrinsic::umin:
      case llvm::Intrinsic::sadd_sat:
      case llvm::Intrinsic::ssub_sat:
      case llvm::Intrinsic::uadd_sat:
      case llvm::Intrinsic::usub_sat: return true;
      default: return false;
    }
  }
  return llvm::isa<llvm::BinaryOperator, llvm::UnaryOperator, llvm::InsertElementInst>(instruction) &&
         llvm::isSafeToSpeculativelyExecute(&instruction) &&
         !llvm::canCreatePoison(llvm::cast<llvm::Operator>(&instruction), /*ConsiderFlagsAndMetadata=*/false);
}

// A number of which nothing says so may be poison: it was computed for lanes that are not there any more. What is in
// memory is a number.
bool MayBePoison(const llvm::Value& value, unsigned depth = 0) {
  if (llvm::isa<llvm::Argument, llvm::ConstantInt, llvm::ConstantFP, llvm::ConstantAggregateZero,
                llvm::ConstantDataVector, llvm::ConstantPointerNull, llvm::GlobalValue>(value))
    return false;
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(&value);
  if (instruction == nullptr || depth == kMostDepth) return true;
  if (llvm::isa<llvm::LoadInst, llvm::AllocaInst, llvm::FreezeInst>(instruction)) return false;
  if (llvm::isa<llvm::PHINode>(instruction) || !IsTotal(*instruction) || instruction->hasPoisonGeneratingAnnotations())
    return true;
  return llvm::any_of(instruction->operands(), [&](const llvm::Use& operand) {
    return !llvm::isa<llvm::Function>(operand.get()) && MayBePoison(*operand.get(), depth + 1);
  });
}

// A loop that can be made so. Edges are of the first round; those of later ones are their copies.
class Search {
 public:
  Search(llvm::Loop& loop, const llvm::DominatorTree& dominators) : loop_(loop), dominators_(dominators) {}

  bool Fits() {
    if (!loop_.getSubLoops().empty() || loop_.getLoopLatch() == nullptr || !FindQuestion()) return false;
    size_t instructions = 0;
    for (llvm::BasicBlock* block : loop_.blocks()) {
      if (IsCold(block)) continue;
      for (llvm::Instruction& instruction : *block) {
        if (++instructions > kMostInstructions || !IsHarmless(instruction)) return false;
      }
    }
    return true;
  }

  void Transform() {
    const Edges behind = EdgesToAskBefore(/*behind=*/true), before = EdgesToAskBefore(/*behind=*/false);
    ForgetFlags();
    for (unsigned round = 1; round < kRounds; ++round) AddRound(round);
    Close();
    for (unsigned round = 0; round + 1 < kRounds; ++round) {
      for (const Edge& edge : behind) Ask(round, round, edge);
      for (const Edge& edge : before) Ask(round, round + 1, edge);
    }
    for (unsigned round = 0; round + 1 < kRounds; ++round) LeaveOut(round);
  }

 private:
  using Edge = std::pair<llvm::BasicBlock*, unsigned>;  // the number of a successor
  using Edges = llvm::SmallVector<Edge, 8>;

  bool FindQuestion() {
    place_ = nullptr;
    for (llvm::BasicBlock* block : loop_.blocks()) {
      const auto* branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
      if (branch == nullptr || !branch->isConditional() || !branch->hasMetadata("tutti.left")) continue;
      if (place_ != nullptr || !loop_.contains(branch->getSuccessor(0)) || loop_.contains(branch->getSuccessor(1)))
        return false;
      place_ = block;
      left_ = branch->getCondition();
      end_ = branch->getSuccessor(1);
    }
    return place_ != nullptr && !IsCold(place_) && dominators_.dominates(place_, loop_.getLoopLatch());
  }

  bool IsCold(const llvm::BasicBlock* block) const {
    for (const llvm::DomTreeNode* node = dominators_.getNode(block); node != nullptr; node = node->getIDom()) {
      if (!loop_.contains(node->getBlock())) return false;
      const llvm::BasicBlock* before = node->getBlock()->getSinglePredecessor();
      const auto* branch = before != nullptr ? llvm::dyn_cast<llvm::BranchInst>(before->getTerminator()) : nullptr;
      if (branch == nullptr || !branch->isConditional()) continue;
      if (IsRareEdge(*branch, branch->getSuccessor(0) == node->getBlock() ? 0 : 1)) return true;
    }
    return false;
  }

  static bool IsHarmless(const llvm::Instruction& instruction) {
    if (llvm::isa<llvm::BranchInst>(instruction)) return true;
    const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    return load != nullptr ? load->isSimple() && load->hasMetadata("tutti.anyone") : IsTotal(instruction);
  }

  void ForgetFlags() {
    llvm::DenseMap<llvm::Value*, llvm::Value*> numbers;
    for (llvm::BasicBlock* block : loop_.blocks()) {
      if (IsCold(block)) continue;
      for (llvm::Instruction& instruction : *block) {
        instruction.dropPoisonGeneratingAnnotations();
        for (llvm::Use& operand : instruction.operands()) BringNumber(operand, numbers);
      }
    }
  }

  // From outside of the loop. Of vectors, lanes that are not there may be poison: they decide nothing.
  void BringNumber(llvm::Use& use, llvm::DenseMap<llvm::Value*, llvm::Value*>& numbers) {
    auto* value = llvm::dyn_cast<llvm::Instruction>(use.get());
    if (value == nullptr || value->getType()->isVectorTy() || loop_.contains(value) || !MayBePoison(*value)) return;
    llvm::Value*& number = numbers[value];
    if (number == nullptr) {
      llvm::BasicBlock::iterator place = *value->getInsertionPointAfterDef();
      auto* freeze = new llvm::FreezeInst(value);
      freeze->insertInto(place->getParent(), place);
      number = freeze;
    }
    use.set(number);
  }

  llvm::BasicBlock* BlockOf(unsigned round, llvm::BasicBlock* block) {
    return round == 0 ? block : llvm::cast<llvm::BasicBlock>(&*copies_[round - 1][block]);
  }
  llvm::Value* ValueOf(unsigned round, llvm::Value* value) {
    if (round == 0) return value;
    const auto found = copies_[round - 1].find(value);
    return found == copies_[round - 1].end() ? value : static_cast<llvm::Value*>(found->second);
  }

  void AddRound(unsigned round) {
    llvm::BasicBlock* latch = loop_.getLoopLatch();
    llvm::Function& function = *latch->getParent();
    llvm::ValueToValueMapTy& copies = copies_[round - 1];
    llvm::SmallVector<llvm::BasicBlock*, 8> made;
    for (llvm::BasicBlock* block : loop_.blocks()) {
      made.push_back(llvm::CloneBasicBlock(block, copies, "", &function));
      copies[block] = made.back();
    }
    // The header has one block before it, the latch of the round before.
    for (llvm::PHINode& phi : llvm::make_early_inc_range(loop_.getHeader()->phis())) {
      auto* copy = llvm::cast<llvm::PHINode>(&*copies[&phi]);
      copies[&phi] = ValueOf(round - 1, phi.getIncomingValueForBlock(latch));
      copy->eraseFromParent();
    }
    for (llvm::BasicBlock* block : made) {
      for (llvm::Instruction& instruction : *block)
        llvm::RemapInstruction(&instruction, copies, llvm::RF_NoModuleLevelChanges | llvm::RF_IgnoreMissingLocals);
    }
    for (llvm::BasicBlock* block : loop_.blocks()) {
      llvm::SmallPtrSet<llvm::BasicBlock*, 2> seen;
      for (llvm::BasicBlock* to : llvm::successors(block)) {
        if (loop_.contains(to) || !seen.insert(to).second) continue;
        for (llvm::PHINode& phi : to->phis()) {
          while (static_cast<size_t>(llvm::count(phi.blocks(), BlockOf(round, block))) <
                 static_cast<size_t>(llvm::count(phi.blocks(), block)))
            phi.addIncoming(ValueOf(round, phi.getIncomingValueForBlock(block)), BlockOf(round, block));
        }
      }
    }
  }

  // Each latch leads on to the next round, the last one's to the first.
  void Close() {
    llvm::BasicBlock *latch = loop_.getLoopLatch(), *header = loop_.getHeader();
    for (llvm::PHINode& phi : header->phis()) {
      const int back = phi.getBasicBlockIndex(latch);
      phi.setIncomingValue(static_cast<unsigned>(back),
                           ValueOf(kRounds - 1, phi.getIncomingValue(static_cast<unsigned>(back))));
      phi.setIncomingBlock(static_cast<unsigned>(back), BlockOf(kRounds - 1, latch));
    }
    for (unsigned round = 0; round < kRounds; ++round) {
      llvm::Instruction* end = BlockOf(round, latch)->getTerminator();
      end->replaceSuccessorWith(BlockOf(round, header), round + 1 < kRounds ? BlockOf(round + 1, header) : header);
    }
  }

  // The edges of a round behind its question, or before it, to what may have an effect.
  Edges EdgesToAskBefore(bool behind) const {
    Edges edges;
    for (llvm::BasicBlock* block : loop_.blocks()) {
      if (block == place_ || IsCold(block) || dominators_.dominates(place_, block) != behind) continue;
      const llvm::Instruction* end = block->getTerminator();
      for (unsigned i = 0; i < end->getNumSuccessors(); ++i) {
        if (!loop_.contains(end->getSuccessor(i)) || IsCold(end->getSuccessor(i))) edges.emplace_back(block, i);
      }
    }
    return edges;
  }

  // On an edge of `round`, the question that `asked` leaves out: nobody goes where it would have led.
  void Ask(unsigned asked, unsigned round, const Edge& edge) {
    llvm::BasicBlock* from = BlockOf(round, edge.first);
    llvm::BasicBlock* to = from->getTerminator()->getSuccessor(edge.second);
    llvm::LLVMContext& context = from->getContext();
    auto* question = llvm::BasicBlock::Create(context, "", from->getParent());
    auto* nobody = llvm::BasicBlock::Create(context, "", from->getParent());
    from->getTerminator()->setSuccessor(edge.second, question);
    llvm::BranchInst::Create(to, nobody, ValueOf(asked, left_), question);
    llvm::BranchInst::Create(end_, nobody);
    // One entry of several that are the same, where several edges lead from one block to the other.
    for (llvm::PHINode& phi : to->phis())
      phi.setIncomingBlock(static_cast<unsigned>(phi.getBasicBlockIndex(from)), question);
    for (llvm::PHINode& phi : end_->phis())
      phi.addIncoming(phi.getIncomingValueForBlock(BlockOf(asked, place_)), nobody);
  }

  void LeaveOut(unsigned round) {
    llvm::BasicBlock* block = BlockOf(round, place_);
    llvm::Instruction* branch = block->getTerminator();
    end_->removePredecessor(block, /*KeepOneInputPHIs=*/true);
    llvm::BranchInst::Create(branch->getSuccessor(0), branch->getIterator());
    branch->eraseFromParent();
  }

  llvm::Loop& loop_;
  const llvm::DominatorTree& dominators_;
  // The question: its block, its condition, and where it leads if nobody is left.
  llvm::BasicBlock* place_ = nullptr;
  llvm::Value* left_ = nullptr;
  llvm::BasicBlock* end_ = nullptr;
  std::array<llvm::ValueToValueMapTy, kRounds - 1> copies_;  // of the first round, for each other one
};

}  // namespace

llvm::PreservedAnalyses QuietRoundsPass::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  auto& loops = analyses.getResult<llvm::LoopAnalysis>(function);
  auto& dominators = analyses.getResult<llvm::DominatorTreeAnalysis>(function);
  llvm::SmallVector<llvm::Loop*, 8> fitting;
  for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
    if (Search(*loop, dominators).Fits()) fitting.push_back(loop);
  }
  // First, while the analyses are right: of others only their phis.
  for (llvm::Loop* loop : fitting) llvm::formLCSSA(*loop, dominators, &loops, nullptr);
  std::vector<std::unique_ptr<Search>> searches;
  for (llvm::Loop* loop : fitting) {
    searches.push_back(std::make_unique<Search>(*loop, dominators));
    (void)searches.back()->Fits();
  }
  for (auto& search : searches) search->Transform();
  return fitting.empty() ? llvm::PreservedAnalyses::all() : llvm::PreservedAnalyses::none();
}

}  // namespace tutti::compiler
