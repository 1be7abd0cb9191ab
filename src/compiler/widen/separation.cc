#include "compiler/widen/separation.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "compiler/widen/apart_copy.h"
#include "compiler/widen/early_ends.h"
#include "compiler/widen/lane_conflict.h"
#include "compiler/widen/module_state.h"
#include "compiler/widen/prepare.h"
#include "compiler/widen/spin_loops.h"
#include "compiler/widen/turns.h"

namespace tutti::compiler {
namespace {

// Bounds of the copy. The first two are known before it is made; the last is of all that there is with it.
constexpr size_t kMostCopied = 10000;  // instructions
constexpr size_t kMostMeetings = 64;   // each has ways from and to the loop of turns
size_t MostGrown(const llvm::Function& before) { return 2500 + 4 * size_t{before.getInstructionCount()}; }

enum class Separation { kNone, kEnds, kTurns };

// What must be done whatever the lanes do.
Separation Needed(llvm::Function& scalar, const ModuleState& state) {
  const llvm::DominatorTree dominators(scalar);
  const llvm::LoopInfo loops(dominators);
  const bool spins = llvm::any_of(loops.getLoopsInPreorder(), [&](const llvm::Loop* loop) { return IsSpinLoop(loops, *loop); });
  if (!spins && !HasJumpsToEnds(scalar)) return Separation::kNone;
  Schedule schedule(scalar, loops);
  const ShapeAnalysis shapes(scalar, state.block, state.local_bytes, schedule);
  if (spins && HasLaneConflict(loops, dominators, schedule, shapes)) return Separation::kTurns;
  return HoldsBackEnds(scalar, schedule) ? Separation::kEnds : Separation::kNone;
}

// Where lanes may have to meet that have come apart. Empty also if they could not be copied.
Partings PartingsOf(llvm::Function& scalar, const ModuleState& state, bool takes_turns) {
  const size_t meetings = CountMeetings(scalar);
  if (meetings == 0 || meetings > kMostMeetings || scalar.getInstructionCount() > kMostCopied) return {};
  if (takes_turns) return FindPartingsOfTurns(scalar);
  const llvm::DominatorTree dominators(scalar);
  const llvm::LoopInfo loops(dominators);
  Schedule schedule(scalar, loops);
  const ShapeAnalysis shapes(scalar, state.block, state.local_bytes, schedule);
  return FindPartings(scalar, schedule);
}

// What widening has to make of the function: its instructions, and at the end of each block tests of who runs next, which may
// be as many as there are blocks.
size_t Size(llvm::Function& scalar, const ModuleState& state) {
  const llvm::DominatorTree dominators(scalar);
  const llvm::LoopInfo loops(dominators);
  Schedule schedule(scalar, loops);
  const ShapeAnalysis shapes(scalar, state.block, state.local_bytes, schedule);
  size_t size = scalar.getInstructionCount();
  for (unsigned i = 0; i < schedule.size(); ++i) size += schedule.Next(i, Targets(schedule, *schedule.block(i))).size();
  return size;
}

Status AddCopy(llvm::Function& scalar, const ModuleState& state, const Partings& partings, bool takes_turns, bool& added) {
  llvm::ValueToValueMapTy values;
  llvm::Function* before = llvm::CloneFunction(&scalar, values);
  TUTTI_TRY(AddApartCopy(scalar, partings, takes_turns));
  MakeCanonical(scalar);
  added = Size(scalar, state) <= MostGrown(*before);
  if (!added) {
    scalar.deleteBody();
    scalar.setLinkage(before->getLinkage());
    scalar.splice(scalar.begin(), before);
    for (unsigned i = 0; i < scalar.arg_size(); ++i) before->getArg(i)->replaceAllUsesWith(scalar.getArg(i));
  }
  before->eraseFromParent();
  return {};
}

}  // namespace

Status SeparateLanes(llvm::Function& scalar, const ModuleState& state) {
  Separation needed = Needed(scalar, state);
  if (needed == Separation::kEnds) {
    if (SeparateEnds(scalar)) {
      MakeCanonical(scalar);
    } else {
      needed = Separation::kTurns;
    }
  }
  bool has_copy = false;
  const bool takes_turns = needed == Separation::kTurns;
  const Partings partings = PartingsOf(scalar, state, takes_turns);
  if (!partings.sites.empty()) TUTTI_TRY(AddCopy(scalar, state, partings, takes_turns, has_copy));
  if (takes_turns && !has_copy) {
    TUTTI_TRY(TakeTurns(scalar));
    MakeCanonical(scalar);
  }
  if (needed == Separation::kNone && !has_copy) return {};
  if (llvm::verifyFunction(scalar)) return Fail("LLVM made invalid code of the separate lanes of " + scalar.getName().str());
  return {};
}

}  // namespace tutti::compiler
