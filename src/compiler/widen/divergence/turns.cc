// Lanes take turns: independent thread scheduling for the functions that need it.
//
// The order of schedule.h makes lanes wait for each other wherever they can reconverge, which is right and fast as long
// as no lane waits for one that waits for it. On a GPU since Volta each thread has its own program counter and all of
// them make progress. Functions that need this get it here, at the price of speed, and only from where they need it:
// before all else of widening, the scalar function becomes a loop around its blocks (turn_loop.h).
//
// There are as few places as possible:
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

// Makes each operation at which lanes meet start a block, unless they have met for it already.
void SplitMeetings(llvm::Function& function, TurnLoop& loop, Members& members) {
  std::vector<BasicBlock*> blocks;
  for (BasicBlock& block : function) blocks.push_back(&block);
  llvm::ConstantInt* everybody = llvm::ConstantInt::get(llvm::Type::getInt32Ty(function.getContext()), ~0u);
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

}  // namespace

Status TakeTurns(llvm::Function& function, bool in_memory) {
  LaneVariables variables(function);
  const auto waiting = SpinLoopHeaders(function);
  BasicBlock* leave = SplitLeave(function, /*behind_a_place=*/true);
  TurnLoop loop(function, variables, leave, variables.New(llvm::Type::getInt64Ty(function.getContext()), "turn"));
  for (BasicBlock* header : waiting) loop.AddPlace(header);
  Members members;
  SplitMeetings(function, loop, members);
  TUTTI_TRY(loop.Complete(FindLoopHeaders(function)));
  variables.KeepPhis(loop.places().getArrayRef());
  loop.Build([&](BasicBlock*, BasicBlock* to, llvm::IRBuilder<>&) -> Value* { return members.lookup(to); }, nullptr,
             false);
  variables.KeepWhatIsLost();
  if (in_memory) variables.StayInMemory();
  variables.Promote();
  return {};
}

}  // namespace tutti::compiler
