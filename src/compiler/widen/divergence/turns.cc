// Lanes take turns: independent thread scheduling for the functions that need it.
//
// The order of schedule.h makes lanes wait for each other wherever they can reconverge, which is right and fast as long
// as no lane waits for one that waits for it. On a GPU since Volta each thread has its own program counter and all of
// them make progress. Functions that need this get it here, at the price of speed, and only from where they need it:
// before all else of widening, the scalar function becomes a loop around its blocks (turn_loop.h).
//
// Turns reach from the first place to the function's end, or from a loop that waits to the barrier behind it
// (turn_regions.h). There are as few places as possible:
//   * the headers of loops that wait: each iteration is a turn;
//   * barriers and warp operations: `members` are the lanes that a lane needs to meet there; the place gets its turn
//     when these have arrived (those that have ended do not count), as .sync requires;
//   * what the loop's form needs.
//
// Values that are live from one turn to another, or that their definition no longer dominates, become variables of the
// lane: stack slots, then phis again; or they stay in memory, one vector each, where there would be too many phis
// (separation.cc).
#include "compiler/widen/divergence/turns.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/ValueHandle.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <deque>

#include "compiler/widen/analysis/intrinsics.h"
#include "compiler/widen/divergence/spin_loops.h"
#include "compiler/widen/divergence/turn_loop.h"

namespace tutti::compiler {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Value;

// By places where lanes meet; phis among the values become loads.
using Members = llvm::DenseMap<BasicBlock*, llvm::WeakTrackingVH>;

llvm::ConstantInt* Everybody(const llvm::Function& function) {
  return llvm::ConstantInt::get(llvm::Type::getInt32Ty(function.getContext()), ~0u);
}

// Makes each operation at which lanes meet start a block, unless they have met for it already.
void SplitMeetings(llvm::Function& function, llvm::ArrayRef<BasicBlock*> blocks, TurnLoop& loop, Members& members) {
  llvm::ConstantInt* everybody = Everybody(function);
  for (BasicBlock* block : blocks) {
    Value* met = nullptr;
    for (auto next = block->begin(); next != block->end();) {
      Instruction& instruction = *next++;
      const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (call == nullptr) continue;
      const Intrinsic kind = ClassifyCall(*call).kind;
      if (!IsMeetingOfAll(kind) && !IsMeetingOfMembers(kind)) continue;
      Value* wanted = IsMeetingOfAll(kind) ? everybody : call->getArgOperand(0);
      if (met == wanted || met == everybody) continue;
      block = llvm::SplitBlock(block, &instruction);
      next = std::next(instruction.getIterator());
      loop.AddPlace(block);
      members[block] = met = wanted;
    }
  }
}

llvm::AllocaInst* NewTurn(llvm::Function& function, LaneVariables& variables) {
  return variables.New(llvm::Type::getInt64Ty(function.getContext()), "turn");
}

// The blocks of a region whose end starts a block: what can be reached without it.
std::vector<BasicBlock*> BlocksOf(const TurnRegion& region, const BasicBlock* leave) {
  const BasicBlock* end = region.end != nullptr ? region.end->getParent() : nullptr;
  llvm::SetVector<BasicBlock*> blocks(region.waiting.begin(), region.waiting.end());
  for (size_t i = 0; i < blocks.size(); ++i) {
    for (BasicBlock* to : llvm::successors(blocks[i])) {
      if (to != end && to != leave) blocks.insert(to);
    }
  }
  return {blocks.begin(), blocks.end()};
}

void FinishVariables(LaneVariables& variables, bool in_memory) {
  variables.KeepWhatIsLost();
  if (in_memory) variables.StayInMemory();
  variables.Promote();
}

}  // namespace

Status TakeTurns(llvm::Function& function, bool in_memory) {
  LaneVariables variables(function);
  const auto waiting = SpinLoopHeaders(function);
  BasicBlock* leave = SplitLeave(function, /*behind_a_place=*/true);
  TurnLoop loop(function, variables, leave, NewTurn(function, variables));
  for (BasicBlock* header : waiting) loop.AddPlace(header);
  std::vector<BasicBlock*> blocks;
  for (BasicBlock& block : function) blocks.push_back(&block);
  Members members;
  SplitMeetings(function, blocks, loop, members);
  TUTTI_TRY(loop.Complete(FindLoopHeaders(function)));
  variables.KeepPhis(loop.places().getArrayRef());
  loop.Build([&](BasicBlock*, BasicBlock* to, llvm::IRBuilder<>&) -> Value* { return members.lookup(to); }, nullptr,
             false);
  FinishVariables(variables, in_memory);
  return {};
}

// All loops are complete before the first is built: the rewritten code has other loops than the headers tell of.
Status TakeTurnsIn(llvm::Function& function, llvm::ArrayRef<TurnRegion> regions, bool in_memory) {
  LaneVariables variables(function);
  BasicBlock* leave = SplitLeave(function, /*behind_a_place=*/false);
  Members members;
  std::deque<TurnLoop> loops;
  for (const TurnRegion& region : regions) {
    if (region.end == nullptr) continue;
    BasicBlock* end = llvm::SplitBlock(region.end->getParent(), region.end);
    members[end] = Everybody(function);
  }
  for (const TurnRegion& region : regions) {
    TurnLoop& loop = loops.emplace_back(function, variables, leave, NewTurn(function, variables));
    for (BasicBlock* header : region.waiting) loop.AddPlace(header);
    SplitMeetings(function, BlocksOf(region, leave), loop, members);
    if (region.end != nullptr) loop.EndAt(region.end->getParent());
  }
  const LoopHeaders headers = FindLoopHeaders(function);
  for (TurnLoop& loop : loops) {
    TUTTI_TRY(loop.Complete(headers));
    variables.KeepPhis(loop.places().getArrayRef());
  }
  for (TurnLoop& loop : loops) {
    loop.Build([&](BasicBlock*, BasicBlock* to, llvm::IRBuilder<>&) -> Value* { return members.lookup(to); }, nullptr,
               false);
  }
  FinishVariables(variables, in_memory);
  return {};
}

}  // namespace tutti::compiler
