#include "compiler/widen/lanes/lane_rounds.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Constants.h>

#include <algorithm>

namespace tutti::compiler {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Value;

constexpr unsigned kMostSums = 6;  // in each other
constexpr int64_t kMostStep = 1 << 20;

// What each round adds to a phi of the loop; null if it does something else.
const llvm::ConstantInt* AddedTo(const llvm::PHINode& phi, const BasicBlock& block) {
  const auto* next = llvm::dyn_cast<llvm::BinaryOperator>(phi.getIncomingValueForBlock(&block));
  if (next == nullptr || next->getOpcode() != Instruction::Add || next->getOperand(0) != &phi) return nullptr;
  return llvm::dyn_cast<llvm::ConstantInt>(next->getOperand(1));
}

// By how much a phi of the loop grows in a round.
std::optional<int64_t> StepOfPhi(const llvm::PHINode& phi, const BasicBlock& block) {
  const llvm::ConstantInt* by = AddedTo(phi, block);
  if (by == nullptr || by->getBitWidth() > 64 || by->getSExtValue() > kMostStep || by->getSExtValue() < -kMostStep)
    return std::nullopt;
  return by->getSExtValue();
}

std::optional<int64_t> StepOf(const Value& value, const BasicBlock& block, unsigned depth) {
  const auto* instruction = llvm::dyn_cast<Instruction>(&value);
  if (instruction == nullptr || instruction->getParent() != &block) return 0;
  if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(instruction)) return StepOfPhi(*phi, block);
  if (depth == kMostSums) return std::nullopt;
  if (const auto* cast = llvm::dyn_cast<llvm::IntToPtrInst>(instruction)) {
    // Of fewer bits it might wrap.
    const Value& address = *cast->getOperand(0);
    return address.getType()->isIntegerTy(64) ? StepOf(address, block, depth + 1) : std::nullopt;
  }
  if (instruction->getOpcode() != Instruction::Add) return std::nullopt;
  const auto one = StepOf(*instruction->getOperand(0), block, depth + 1);
  const auto other = StepOf(*instruction->getOperand(1), block, depth + 1);
  return one && other ? std::optional(*one + *other) : std::nullopt;
}

bool IsKnown(const Value& value, const BasicBlock& block, unsigned depth) {
  const auto* instruction = llvm::dyn_cast<Instruction>(&value);
  if (instruction == nullptr || instruction->getParent() != &block || llvm::isa<llvm::PHINode>(instruction))
    return true;
  return depth < kMostSums && !instruction->mayReadOrWriteMemory() &&
         llvm::all_of(
             instruction->operands(),
             [&](const llvm::Use& operand) { return IsKnown(*operand.get(), block, depth + 1); });
}

// Whether and how values move in a round.
class Movements {
 public:
  explicit Movements(const BasicBlock& block) : block_(block) {}

  enum Moves { kNot, kInSteps, kSomehow };
  Moves Of(const Value& value, unsigned depth = 0) {
    const auto* instruction = llvm::dyn_cast<Instruction>(&value);
    if (instruction == nullptr || instruction->getParent() != &block_) return kNot;
    if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(instruction))
      return AddedTo(*phi, block_) != nullptr ? kInSteps : kSomehow;
    if (depth == kMostFromPhi || instruction->mayReadFromMemory() || llvm::isa<llvm::CallBase>(instruction))
      return kSomehow;
    if (const auto known = known_.find(instruction); known != known_.end()) return known->second;
    Moves moves = kNot;
    for (const llvm::Use& operand : instruction->operands()) moves = std::max(moves, Of(*operand.get(), depth + 1));
    if (moves == kInSteps && !KeepsSteps(*instruction)) moves = kSomehow;
    return known_[instruction] = moves;
  }

 private:
  static constexpr unsigned kMostFromPhi = 16;  // operations, in each other

  // Of two that move, a product does not; scalar evolution knows that, too.
  static bool KeepsSteps(const Instruction& instruction) {
    switch (instruction.getOpcode()) {
      case Instruction::Add:
      case Instruction::Sub:
      case Instruction::Mul:
      case Instruction::Trunc: return true;
      case Instruction::Shl: return llvm::isa<llvm::ConstantInt>(instruction.getOperand(1));
      default: return false;
    }
  }

  const BasicBlock& block_;
  llvm::DenseMap<const Instruction*, Moves> known_;
};

}  // namespace

bool KeepsItsSteps(const Value& value, const BasicBlock& block) {
  return Movements(block).Of(value) != Movements::kSomehow;
}

std::optional<CountedLoop> FindCountedLoop(const BasicBlock& block) {
  if (!CanHaveTwoCopies(block)) return std::nullopt;
  CountedLoop loop;
  for (const BasicBlock* from : llvm::predecessors(&block)) {
    if (from == &block) continue;
    if (loop.before != nullptr || from->getSingleSuccessor() != &block) return std::nullopt;
    loop.before = const_cast<BasicBlock*>(from);
  }
  const auto* branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
  if (loop.before == nullptr || branch == nullptr || !branch->isConditional()) return std::nullopt;
  const auto* asks = llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
  const unsigned stays = branch->getSuccessor(0) == &block ? 0 : 1;
  if (asks == nullptr || branch->getSuccessor(1 - stays) == &block) return std::nullopt;
  if (asks->getPredicate() != (stays == 0 ? llvm::CmpInst::ICMP_NE : llvm::CmpInst::ICMP_EQ)) return std::nullopt;
  for (const llvm::PHINode& phi : block.phis()) {
    if (!phi.getType()->isIntegerTy(32) && !phi.getType()->isIntegerTy(64)) continue;
    const auto step = StepOfPhi(phi, block);
    if (!step || *step == 0 || phi.getIncomingValueForBlock(&block) != asks->getOperand(0)) continue;
    const auto size = static_cast<uint64_t>(*step < 0 ? -*step : *step);
    const auto* end = llvm::dyn_cast<Instruction>(asks->getOperand(1));
    if ((size & (size - 1)) != 0 || (end != nullptr && end->getParent() == &block)) continue;
    loop.first = phi.getIncomingValueForBlock(loop.before);
    loop.end = asks->getOperand(1);
    loop.step_log2 = static_cast<unsigned>(__builtin_ctzll(size));
    loop.counts_down = *step < 0;
    return loop;
  }
  return std::nullopt;
}

bool CanHaveTwoCopies(const BasicBlock& block) {
  if (!llvm::is_contained(llvm::successors(&block), &block)) return false;
  for (const Instruction& instruction : block) {
    for (const llvm::Use& use : instruction.uses()) {
      const auto* user = llvm::cast<Instruction>(use.getUser());
      const auto* phi = llvm::dyn_cast<llvm::PHINode>(user);
      if (user->getParent() != &block && (phi == nullptr || phi->getIncomingBlock(use) != &block)) return false;
    }
  }
  return true;
}

bool IsKnownAtStart(const Value& value, const BasicBlock& block) { return IsKnown(value, block, 0); }

std::optional<unsigned> StepLog2(const Value& address, const BasicBlock& block, unsigned least) {
  const auto step = StepOf(address, block, 0);
  if (!step || *step <= 0 || (*step & (*step - 1)) != 0) return std::nullopt;
  const auto log2 = static_cast<unsigned>(__builtin_ctzll(static_cast<uint64_t>(*step)));
  return log2 >= least ? std::optional(log2) : std::nullopt;
}

}  // namespace tutti::compiler
