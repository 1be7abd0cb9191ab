#include "compiler/threads/bounded_rounds.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Support/KnownBits.h>

#include <algorithm>

namespace tutti::compiler {
namespace {

using llvm::APInt;

constexpr unsigned kMostUnknownBits = 10;  // of the first value: a lane, or a thread of a block
constexpr uint64_t kMostTried = 512;       // rounds

// A count by constant steps from a first value of which few bits are unknown, as programs clear memory by lanes: tried
// out, since LLVM's analysis gives up where the count wraps around zero.
class Count {
 public:
  explicit Count(const llvm::Loop& loop) : loop_(loop) {}

  uint64_t Rounds(const llvm::BasicBlock& exiting) {
    const auto* branch = llvm::dyn_cast<llvm::BranchInst>(exiting.getTerminator());
    if (branch == nullptr || !branch->isConditional()) return 0;
    const auto* compare = llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
    if (compare == nullptr || !Find(compare->getOperand(0))) return 0;
    const auto* limit = llvm::dyn_cast<llvm::ConstantInt>(compare->getOperand(1));
    if (limit == nullptr) return 0;
    const bool stays = loop_.contains(branch->getSuccessor(0));
    uint64_t most = 0;
    for (APInt unknown = APInt::getZero(first_.getBitWidth());;) {
      const uint64_t rounds = Try(first_.One | unknown, *compare, limit->getValue(), stays);
      if (rounds == 0) return 0;
      most = std::max(most, rounds);
      // The next subset of the unknown bits.
      const APInt bits = ~(first_.Zero | first_.One);
      unknown = (unknown - bits) & bits;
      if (unknown.isZero()) return most;
    }
  }

 private:
  // `value`: the count, or the count and a constant.
  bool Find(const llvm::Value* value) {
    offset_ = APInt::getZero(value->getType()->getScalarSizeInBits());
    const auto* sum = llvm::dyn_cast<llvm::BinaryOperator>(value);
    const auto* count = llvm::dyn_cast<llvm::PHINode>(value);
    if (count == nullptr && sum != nullptr && sum->getOpcode() == llvm::Instruction::Add) {
      const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(sum->getOperand(1));
      count = llvm::dyn_cast<llvm::PHINode>(sum->getOperand(0));
      if (constant == nullptr) return false;
      offset_ = constant->getValue();
    }
    const llvm::BasicBlock *before = loop_.getLoopPredecessor(), *latch = loop_.getLoopLatch();
    if (count == nullptr || count->getParent() != loop_.getHeader() || before == nullptr || latch == nullptr)
      return false;
    const auto* next = llvm::dyn_cast<llvm::BinaryOperator>(count->getIncomingValueForBlock(latch));
    if (next == nullptr || next->getOpcode() != llvm::Instruction::Add || next->getOperand(0) != count) return false;
    const auto* step = llvm::dyn_cast<llvm::ConstantInt>(next->getOperand(1));
    if (step == nullptr) return false;
    step_ = step->getValue();
    first_ = llvm::computeKnownBits(count->getIncomingValueForBlock(before), count->getDataLayout());
    return (~(first_.Zero | first_.One)).popcount() <= kMostUnknownBits;
  }

  // 0: too many.
  uint64_t Try(APInt count, const llvm::ICmpInst& compare, const APInt& limit, bool stays) const {
    for (uint64_t rounds = 1; rounds <= kMostTried; ++rounds) {
      if (llvm::ICmpInst::compare(count + offset_, limit, compare.getPredicate()) != stays) return rounds;
      count += step_;
    }
    return 0;
  }

  const llvm::Loop& loop_;
  llvm::KnownBits first_;
  APInt step_, offset_;
};

}  // namespace

uint64_t MostRounds(const llvm::Loop& loop, llvm::ScalarEvolution& evolution) {
  if (const uint64_t rounds = evolution.getSmallConstantMaxTripCount(&loop); rounds != 0) return rounds;
  // An exit that each round comes to.
  const llvm::BasicBlock *latch = loop.getLoopLatch(), *header = loop.getHeader();
  for (const llvm::BasicBlock* exiting : {latch, header}) {
    if (exiting == nullptr || !loop.isLoopExiting(exiting)) continue;
    if (const uint64_t rounds = Count(loop).Rounds(*exiting); rounds != 0) return rounds;
  }
  return 0;
}

}  // namespace tutti::compiler
