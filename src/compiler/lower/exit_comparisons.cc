#include "compiler/lower/exit_comparisons.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <optional>

namespace tutti::compiler::lowering {
namespace {

constexpr unsigned kMostNested = 3;  // of phis
constexpr size_t kMostInExit = 8;  // instructions of a block between a loop and the comparison

class Answers {
 public:
  Answers(llvm::Function& function, llvm::FunctionAnalysisManager& analyses)
      : function_(function),
        analyses_(analyses),
        loops_(analyses.getResult<llvm::LoopAnalysis>(function)),
        dominators_(analyses.getResult<llvm::DominatorTreeAnalysis>(function)) {}

  // A block that has two ways out then is copied, which is one masked access more for each access in it.
  static bool MayBeTwice(const llvm::BasicBlock& block) {
    return llvm::none_of(block, [](const llvm::Instruction& instruction) {
      return instruction.mayReadOrWriteMemory() || instruction.mayHaveSideEffects();
    });
  }

  // What becomes of a comparison of a phi that leaves a loop; null: it stays.
  llvm::PHINode* Find(llvm::ICmpInst& comparison) {
    for (unsigned side = 0; side < 2; ++side) {
      auto* phi = llvm::dyn_cast<llvm::PHINode>(comparison.getOperand(side));
      if (phi == nullptr || phi->getParent() != comparison.getParent() || !phi->getType()->isIntegerTy()) continue;
      const Question question{side == 0 ? comparison.getPredicate() : comparison.getSwappedPredicate(),
                              comparison.getOperand(1 - side)};
      if (!IsBefore(question.other, *phi->getParent()) || !LeavesLoop(*phi) || !IsAnswered(*phi, question)) continue;
      return Answer(*phi, question);
    }
    return nullptr;
  }

 private:
  struct Question {
    llvm::ICmpInst::Predicate predicate;
    llvm::Value* other;
  };

  // A loop's exits may lead to a block of their own first, with a phi for what leaves by them.
  static llvm::PHINode* PhiBefore(const llvm::PHINode& phi, unsigned i) {
    auto* before = llvm::dyn_cast<llvm::PHINode>(phi.getIncomingValue(i));
    return before != nullptr && before->getParent() == phi.getIncomingBlock(i) &&
                   before->getParent() != phi.getParent() && before->getParent()->getSingleSuccessor() != nullptr &&
                   before->getParent()->sizeWithoutDebug() <= kMostInExit
               ? before
               : nullptr;
  }

  bool LeavesLoop(const llvm::PHINode& phi, unsigned depth = 0) const {
    for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i) {
      const llvm::Loop* loop = loops_.getLoopFor(phi.getIncomingBlock(i));
      if (loop != nullptr && !loop->contains(phi.getParent())) return true;
      const llvm::PHINode* before = depth < kMostNested ? PhiBefore(phi, i) : nullptr;
      if (before != nullptr && LeavesLoop(*before, depth + 1)) return true;
    }
    return false;
  }

  bool IsAnswered(const llvm::PHINode& phi, const Question& question, unsigned depth = 0) {
    for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i) {
      const llvm::PHINode* before = depth < kMostNested ? PhiBefore(phi, i) : nullptr;
      if (before != nullptr && IsBefore(question.other, *before->getParent())
              ? !IsAnswered(*before, question, depth + 1)
              : !OnEdge(phi, i, question))
        return false;
    }
    return true;
  }

  // Where IsAnswered.
  llvm::PHINode* Answer(llvm::PHINode& phi, const Question& question, unsigned depth = 0) {
    llvm::Type* type = llvm::Type::getInt1Ty(function_.getContext());
    auto* result = llvm::PHINode::Create(type, phi.getNumIncomingValues());
    for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i) {
      llvm::PHINode* before = depth < kMostNested ? PhiBefore(phi, i) : nullptr;
      llvm::Value* answer = before != nullptr && IsBefore(question.other, *before->getParent())
                                ? static_cast<llvm::Value*>(Answer(*before, question, depth + 1))
                                : llvm::ConstantInt::getBool(type, *OnEdge(phi, i, question));
      result->addIncoming(answer, phi.getIncomingBlock(i));
    }
    result->insertInto(phi.getParent(), phi.getParent()->begin());
    return result;
  }

  // The value is there on all edges to the block.
  bool IsBefore(const llvm::Value* value, const llvm::BasicBlock& block) const {
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    return instruction == nullptr || dominators_.properlyDominates(instruction->getParent(), &block);
  }

  std::optional<bool> OnEdge(const llvm::PHINode& phi, unsigned i, const Question& question) {
    llvm::Value* value = phi.getIncomingValue(i);
    if (value == question.other) return llvm::ICmpInst::isTrueWhenEqual(question.predicate);
    const auto* branch = llvm::dyn_cast<llvm::BranchInst>(phi.getIncomingBlock(i)->getTerminator());
    if (branch != nullptr && branch->isConditional() && branch->getSuccessor(0) != branch->getSuccessor(1)) {
      const std::optional<bool> implied =
          llvm::isImpliedCondition(branch->getCondition(), question.predicate, value, question.other,
                                   function_.getParent()->getDataLayout(), branch->getSuccessor(0) == phi.getParent());
      if (implied) return implied;
    }
    return InEachRound(value, question);
  }

  // Of what a loop counts: an answer for all of its rounds.
  std::optional<bool> InEachRound(llvm::Value* value, const Question& question) {
    auto& evolution = analyses_.getResult<llvm::ScalarEvolutionAnalysis>(function_);
    const auto* count = llvm::dyn_cast<llvm::SCEVAddRecExpr>(evolution.getSCEV(value));
    const llvm::SCEV* limit = evolution.getSCEV(question.other);
    if (count == nullptr || !evolution.isLoopInvariant(limit, count->getLoop())) return std::nullopt;
    if (evolution.isKnownOnEveryIteration(question.predicate, count, limit)) return true;
    if (evolution.isKnownOnEveryIteration(llvm::ICmpInst::getInversePredicate(question.predicate), count, limit))
      return false;
    return std::nullopt;
  }

  llvm::Function& function_;
  llvm::FunctionAnalysisManager& analyses_;
  llvm::LoopInfo& loops_;
  llvm::DominatorTree& dominators_;
};

}  // namespace

llvm::PreservedAnalyses ExitComparisonsPass::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  Answers answers(function, analyses);
  bool changed = false;
  for (llvm::BasicBlock& block : function) {
    if (block.phis().empty() || !Answers::MayBeTwice(block)) continue;
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(block)) {
      auto* comparison = llvm::dyn_cast<llvm::ICmpInst>(&instruction);
      llvm::PHINode* answer = comparison != nullptr ? answers.Find(*comparison) : nullptr;
      if (answer == nullptr) continue;
      comparison->replaceAllUsesWith(answer);
      comparison->eraseFromParent();
      changed = true;
    }
  }
  if (!changed) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

}  // namespace tutti::compiler::lowering
