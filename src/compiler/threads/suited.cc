#include "compiler/threads/suited.h"

#include <fmt/format.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <optional>

#include "compiler/threads/bounded_rounds.h"
#include "compiler/threads/cuts.h"
#include "compiler/widen/analysis/intrinsics.h"
#include "compiler/widen/divergence/spin_loops.h"

namespace tutti::compiler {
namespace {

// LLVM's quick generator is not for more, and takes as long as the better one.
constexpr uint32_t kMostInstructions = 60'000;

bool IsDone(Intrinsic kind) {
  switch (kind) {
    case Intrinsic::kNone:
    case Intrinsic::kBlockField:
    case Intrinsic::kTid:
    case Intrinsic::kLaneid:
    case Intrinsic::kWarpid:
    case Intrinsic::kNwarpid:
    case Intrinsic::kStack:
    case Intrinsic::kClock:
    case Intrinsic::kGlobaltimer:
    case Intrinsic::kFence:
    case Intrinsic::kExit:
    case Intrinsic::kTrap:
    case Intrinsic::kPrint:
    case Intrinsic::kAssertFail:
    case Intrinsic::kMalloc:
    case Intrinsic::kFree:
    case Intrinsic::kSetCondition:
    case Intrinsic::kFunction:
    case Intrinsic::kMatrixRows:
    case Intrinsic::kDeviceRuntime: return true;
    default: return IsStop(kind);
  }
}

// Of all functions. `as_many`: what makes the code of warps large counts as so many in it: an operation between lanes,
// at which lanes may meet apart, and a loop that waits, in which lanes take turns.
uint32_t CountInstructions(const llvm::Module& module, bool as_many) {
  constexpr uint32_t kOfAStop = 40, kOfAWait = 250;
  uint32_t count = 0;
  for (const llvm::Function& function : module) {
    count += function.getInstructionCount();
    if (!as_many || function.isDeclaration()) continue;
    for (const llvm::Instruction& instruction : llvm::instructions(function))
      count += IsStop(instruction) ? kOfAStop : 0;
    if (MaySpin(function)) count += kOfAWait;
  }
  return count;
}

}  // namespace

std::string ObstacleIn(const llvm::Module& module, uint32_t least_instructions) {
  const uint32_t count = CountInstructions(module, false);
  if (count < least_instructions && CountInstructions(module, true) < least_instructions)
    return fmt::format("it has {} instructions only", count);
  if (count > kMostInstructions) return fmt::format("it has {} instructions", count);
  for (const llvm::Function& function : module) {
    if (!IsDone(ClassifyFunction(&function).kind) && !function.use_empty())
      return fmt::format("it calls {}", function.getName().str());
  }
  return {};
}

std::string ObstacleInKernel(const llvm::Function& kernel) {
  if (kernel.getInstructionCount() > kMostInstructions)
    return fmt::format("it has {} instructions", kernel.getInstructionCount());
  for (const llvm::Instruction& instruction : llvm::instructions(kernel)) {
    if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
      const llvm::Function* called = call->getCalledFunction();
      if (called == nullptr || !called->isDeclaration()) return "it calls functions that cannot be inlined";
      // An access that nothing would check, or a function that there is not.
      const bool is_ours = ClassifyFunction(called).kind != Intrinsic::kNone;
      if (!is_ours && !llvm::isa<llvm::AssumeInst>(call) && (!called->isIntrinsic() || call->mayReadOrWriteMemory()))
        return fmt::format("it calls {}", called->getName().str());
    }
    if (llvm::isa<llvm::IndirectBrInst, llvm::CallBrInst, llvm::InvokeInst>(instruction))
      return "it has an indirect branch";
    const auto* alloca = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (alloca != nullptr && !alloca->isStaticAlloca()) return "it has a dynamic alloca";
  }
  return {};
}

namespace {

// A read, as programs write it that poll by atomic operations; or an attempt.
bool ChangesNothingElse(const llvm::Instruction& instruction) {
  const auto* atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction);
  if (atomic == nullptr) return !llvm::isa<llvm::StoreInst>(instruction);
  const auto* operand = llvm::dyn_cast<llvm::Constant>(atomic->getValOperand());
  return atomic->getOperation() == llvm::AtomicRMWInst::Xchg || (operand != nullptr && operand->isNullValue());
}

// It only waits, or collects what it waits for as blocks do that look back for sums: a loop that takes work from a
// queue looks alike, and may go on for long. So does one that counts how often it waits.
bool OnlyWaits(const LoopAnalyses& analyses, const llvm::Loop& loop) {
  constexpr size_t kMostInstructions = 128;
  const llvm::LoopInfo& loops = analyses.loops;
  size_t count = 0;
  for (const llvm::BasicBlock* block : loop.blocks()) {
    count += block->size();
    if (!llvm::all_of(*block, ChangesNothingElse)) return false;
  }
  if (count > kMostInstructions) return false;
  if (IsSpinLoop(loops, loop)) return true;
  return llvm::any_of(loop.getLoopsInPreorder(), [&](const llvm::Loop* inner) { return IsSpinLoop(loops, *inner); }) &&
         LeavesByWhatOthersWrite(loop, analyses.dominators, analyses.post_dominators);
}

// `condition` says whether a compare-and-swap has taken place: the number it is that then.
std::optional<bool> SaysThatItIsSwapped(const llvm::Value* condition) {
  const auto exchange_of = [](const llvm::Value* value, unsigned field) -> const llvm::AtomicCmpXchgInst* {
    const auto* part = llvm::dyn_cast<llvm::ExtractValueInst>(value);
    if (part == nullptr || part->getIndices().front() != field) return nullptr;
    return llvm::dyn_cast<llvm::AtomicCmpXchgInst>(part->getAggregateOperand());
  };
  if (exchange_of(condition, 1) != nullptr) return true;
  const auto* compare = llvm::dyn_cast<llvm::ICmpInst>(condition);
  if (compare == nullptr || !compare->isEquality()) return std::nullopt;
  for (const unsigned side : {0u, 1u}) {
    const auto* exchange = exchange_of(compare->getOperand(side), 0);
    if (exchange != nullptr && exchange->getCompareOperand() == compare->getOperand(1 - side))
      return compare->getPredicate() == llvm::ICmpInst::ICMP_EQ;
  }
  return std::nullopt;
}

// It is left as soon as a compare-and-swap has taken place, as programs do what there is no atomic operation for: only
// threads that have done the same meanwhile make another round of it.
bool RetriesAnUpdate(const LoopAnalyses& analyses, const llvm::Loop& loop) {
  llvm::SmallVector<llvm::BasicBlock*, 4> exiting;
  loop.getExitingBlocks(exiting);
  return llvm::any_of(exiting, [&](const llvm::BasicBlock* block) {
    const auto* branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
    if (branch == nullptr || !branch->isConditional() || loop.getLoopLatch() == nullptr) return false;
    const std::optional<bool> swapped = SaysThatItIsSwapped(branch->getCondition());
    return swapped && !loop.contains(branch->getSuccessor(*swapped ? 0 : 1)) &&
           analyses.loops.getLoopFor(block) == &loop && analyses.dominators.dominates(block, loop.getLoopLatch());
  });
}

}  // namespace

bool HasLoopOfSeveralEntries(const llvm::Function& kernel, const llvm::LoopInfo& loops) {
  const llvm::ReversePostOrderTraversal<const llvm::Function*> order(&kernel);
  return llvm::containsIrreducibleCFG<const llvm::BasicBlock*>(order, loops);
}

std::string ObstacleInLoops(const llvm::Function& kernel, const LoopAnalyses& analyses,
                            llvm::function_ref<bool(const llvm::BasicBlock*)> are_among) {
  constexpr uint64_t kMostSteps = 20'000;  // of a thread: some 30 ms of a block of 1,024
  llvm::DenseMap<const llvm::Loop*, uint64_t> rounds;  // of the loop and those around it
  for (const llvm::Loop* loop : analyses.loops.getLoopsInPreorder()) {
    if (!are_among(loop->getHeader())) continue;
    const uint64_t own =
        OnlyWaits(analyses, *loop) || RetriesAnUpdate(analyses, *loop) ? 1 : MostRounds(*loop, analyses.evolution);
    const std::string header = loop->getHeader()->getName().str();
    if (own == 0) return fmt::format("nothing bounds the rounds of the loop at {}", header);
    const llvm::Loop* parent = loop->getParentLoop();
    const uint64_t around = parent != nullptr && are_among(parent->getHeader()) ? rounds.lookup(parent) : 1;
    rounds[loop] = own * around;
    if (rounds[loop] > kMostSteps) return fmt::format("the loop at {} may have {} rounds", header, rounds[loop]);
  }
  uint64_t steps = 0;
  for (const llvm::BasicBlock& block : kernel) {
    if (!are_among(&block)) continue;
    const llvm::Loop* loop = analyses.loops.getLoopFor(&block);
    steps += block.size() * (loop != nullptr ? rounds.lookup(loop) : 1);
  }
  return steps <= kMostSteps ? "" : fmt::format("its threads may take {} steps", steps);
}

}  // namespace tutti::compiler
