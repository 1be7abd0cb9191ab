#include "compiler/widen/lanes/two_loops.h"

#include <llvm/IR/CFG.h>
#include <llvm/Transforms/Utils/Local.h>

#include <initializer_list>

namespace tutti::compiler {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Loop;

// The other successor of a block that ends with a condition.
BasicBlock* OtherWay(const BasicBlock& block, const BasicBlock* one) {
  const auto* branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
  if (branch == nullptr || !branch->isConditional() || branch->getSuccessor(0) == branch->getSuccessor(1))
    return nullptr;
  if (branch->getSuccessor(0) == one) return branch->getSuccessor(1);
  return branch->getSuccessor(1) == one ? branch->getSuccessor(0) : nullptr;
}

// Only loads, and what has no effects.
bool IsLoopOfLoads(const Loop& loop) {
  if (loop.getNumBlocks() != 1 || loop.getLoopPreheader() == nullptr || loop.getUniqueExitBlock() == nullptr)
    return false;
  return llvm::all_of(*loop.getHeader(), [](const Instruction& instruction) {
    const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    return load != nullptr ? load->isSimple() : !instruction.mayHaveSideEffects() && !instruction.mayReadFromMemory();
  });
}

// The way on from a block that only a loop leads to, with phis at most.
BasicBlock* BehindPhis(const BasicBlock& block) {
  return block.getSinglePredecessor() != nullptr && block.getFirstNonPHI() == block.getTerminator()
             ? const_cast<BasicBlock*>(block.getSingleSuccessor())
             : nullptr;
}

// What compares and copies values follows their operands by calling itself.
bool AreShort(std::initializer_list<const BasicBlock*> blocks) {
  constexpr size_t kMostInstructions = 1024;
  return llvm::all_of(blocks, [](const BasicBlock* block) { return block->size() <= kMostInstructions; });
}

}  // namespace

std::optional<TwoLoops> TwoLoopsFrom(const Loop& first, const llvm::LoopInfo& loops) {
  if (!IsLoopOfLoads(first)) return std::nullopt;
  TwoLoops two{.first = &first};
  two.before_first = first.getLoopPreheader();
  two.entry = two.before_first->getSinglePredecessor();
  two.after_first = first.getUniqueExitBlock();
  two.join = BehindPhis(*two.after_first);
  if (two.entry == nullptr || two.join == nullptr || OtherWay(*two.entry, two.before_first) != two.join ||
      !two.join->hasNPredecessors(2))
    return std::nullopt;
  for (BasicBlock* next : llvm::successors(two.join)) {
    if (next->getSinglePredecessor() != two.join || next->getSingleSuccessor() == nullptr) continue;
    const Loop* second = loops.getLoopFor(next->getSingleSuccessor());
    if (second == nullptr || second == loops.getLoopFor(two.join) || !IsLoopOfLoads(*second) ||
        second->getLoopPreheader() != next)
      continue;
    two.second = second;
    two.before_second = next;
    two.after_second = second->getUniqueExitBlock();
    two.exit = BehindPhis(*two.after_second);
    if (two.exit == nullptr || OtherWay(*two.join, next) != two.exit) continue;
    if (AreShort({two.before_first, first.getHeader(), two.join, next, second->getHeader()})) return two;
  }
  return std::nullopt;
}

llvm::Value* Behind(const llvm::PHINode& phi, const BasicBlock* after) {
  llvm::Value* value = phi.getIncomingValueForBlock(after);
  const auto* passed = llvm::dyn_cast<llvm::PHINode>(value);
  return passed != nullptr && passed->getParent() == after ? passed->getIncomingValue(0) : value;
}

size_t LoadsOf(const Loop& loop) {
  return static_cast<size_t>(
      llvm::count_if(*loop.getHeader(), [](const Instruction& i) { return llvm::isa<llvm::LoadInst>(i); }));
}

void DropDead(BasicBlock& loop) {
  for (Instruction& instruction : llvm::make_early_inc_range(llvm::reverse(loop))) {
    if (llvm::isInstructionTriviallyDead(&instruction)) instruction.eraseFromParent();
  }
  llvm::SmallVector<llvm::WeakTrackingVH, 8> phis;
  for (llvm::PHINode& phi : loop.phis()) phis.emplace_back(&phi);
  for (const llvm::WeakTrackingVH& phi : phis) {
    if (auto* still = llvm::dyn_cast_or_null<llvm::PHINode>(phi)) llvm::RecursivelyDeleteDeadPHINode(still);
  }
}

}  // namespace tutti::compiler
