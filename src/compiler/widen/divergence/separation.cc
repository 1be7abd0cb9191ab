#include "compiler/widen/divergence/separation.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "compiler/widen/divergence/apart_copy.h"
#include "compiler/widen/divergence/early_ends.h"
#include "compiler/widen/divergence/lane_conflict.h"
#include "compiler/widen/divergence/prepare.h"
#include "compiler/widen/divergence/spin_loops.h"
#include "compiler/widen/divergence/turns.h"
#include "compiler/widen/emit/module_state.h"

namespace tutti::compiler {
namespace {

// Bounds of the copy. The first two are known before it is made; the last is on everything there is to compile with it,
// against what there was before.
constexpr size_t kMostCopied = 10000;  // instructions
constexpr size_t kMostMeetings = 64;  // each has edges from and to the loop of turns
constexpr size_t MostGrown(size_t before) { return 2500 + 4 * before; }

// A value that is live from turn to turn is a phi at the loop's head and, since lanes that have set it wait, wherever
// the branches of a test join again: values times tests of phis, each compared by LLVM with the others of its block. It
// must stay proportional to the code or compilation does not end: 200 branches and 60 shuffles beside a lock made
// 302,000 phis; CUB's radix sort makes 3,784.
size_t MostCarried(const llvm::Function& before) {
  return std::max<size_t>(20000, 64 * size_t{before.getInstructionCount()});
}

enum class Separation { kNone, kEnds, kTurns };

// What correctness needs, whichever way lanes go.
Separation Needed(llvm::Function& scalar, const ModuleState& state) {
  const llvm::DominatorTree dominators(scalar);
  const llvm::LoopInfo loops(dominators);
  const bool spins =
      llvm::any_of(loops.getLoopsInPreorder(), [&](const llvm::Loop* loop) { return IsSpinLoop(loops, *loop); });
  if (!spins && !HasJumpsToEnds(scalar)) return Separation::kNone;
  Schedule schedule(scalar, loops);
  const ShapeAnalysis shapes(scalar, state.block, state.frame_bytes, schedule);
  if (spins && HasLaneConflict(loops, dominators, schedule, shapes)) return Separation::kTurns;
  return HoldsBackEnds(scalar, schedule) ? Separation::kEnds : Separation::kNone;
}

// The sites at which diverged lanes may have to meet. Empty also if they could not be copied.
Partings PartingsOf(llvm::Function& scalar, const ModuleState& state, bool takes_turns) {
  if (!state.options.apart_copies) return {};
  const size_t meetings = CountMeetings(scalar);
  if (meetings == 0 || meetings > kMostMeetings || scalar.getInstructionCount() > kMostCopied) return {};
  if (takes_turns) return FindPartingsOfTurns(scalar);
  const llvm::DominatorTree dominators(scalar);
  const llvm::LoopInfo loops(dominators);
  Schedule schedule(scalar, loops);
  const ShapeAnalysis shapes(scalar, state.block, state.frame_bytes, schedule);
  return FindPartings(scalar, schedule);
}

// Tests of which lanes run next, which widening puts at the ends of blocks: up to one per block at each.
size_t CountTests(llvm::Function& scalar, const ModuleState& state) {
  const llvm::DominatorTree dominators(scalar);
  const llvm::LoopInfo loops(dominators);
  Schedule schedule(scalar, loops);
  const ShapeAnalysis shapes(scalar, state.block, state.frame_bytes, schedule);
  size_t tests = 0;
  for (unsigned i = 0; i < schedule.size(); ++i)
    tests += schedule.Next(i, Targets(schedule, *schedule.block(i))).size();
  return tests;
}

// The function before it was changed.
class Before {
 public:
  explicit Before(llvm::Function& function) : function_(function), before_(llvm::CloneFunction(&function, values_)) {}
  ~Before() { before_->eraseFromParent(); }
  Before(const Before&) = delete;
  Before& operator=(const Before&) = delete;

  llvm::Function& function() { return *before_; }
  void Restore() {
    function_.deleteBody();
    function_.setLinkage(before_->getLinkage());
    function_.splice(function_.begin(), before_);
    for (unsigned i = 0; i < function_.arg_size(); ++i) before_->getArg(i)->replaceAllUsesWith(function_.getArg(i));
  }

 private:
  llvm::Function& function_;
  llvm::ValueToValueMapTy values_;
  llvm::Function* const before_;
};

// Values that are live from turn to turn: the phis of the loop's head, which has most.
size_t CountCarried(const llvm::Function& scalar) {
  size_t most = 0;
  for (const llvm::BasicBlock& block : scalar) most = std::max<size_t>(most, llvm::range_size(block.phis()));
  return most;
}

// A test costs as much to compile as an instruction, so tests count in the copy and before it. But where so many values
// are live that each test is many phis, the tests of the original do not raise the bound.
Status AddCopy(llvm::Function& scalar, const ModuleState& state, const Partings& partings, bool takes_turns,
               bool& added) {
  const size_t tests_before = CountTests(scalar, state);
  Before before(scalar);
  TUTTI_TRY(AddApartCopy(scalar, partings, takes_turns));
  MakeCanonical(scalar);
  const size_t tests = CountTests(scalar, state), instructions = before.function().getInstructionCount();
  const bool carries_much = CountCarried(scalar) * tests > MostCarried(before.function());
  added = scalar.getInstructionCount() + tests <= MostGrown(carries_much ? instructions : instructions + tests_before);
  if (!added) before.Restore();
  return {};
}

// SSA values run faster; in memory there are no more of them than code.
bool CarriesTooMuch(llvm::Function& scalar, const ModuleState& state, const llvm::Function& before) {
  return CountCarried(scalar) * CountTests(scalar, state) > MostCarried(before);
}

bool EndsSuffice(llvm::Function& scalar, const ModuleState& state) {
  const llvm::DominatorTree dominators(scalar);
  const llvm::LoopInfo loops(dominators);
  Schedule schedule(scalar, loops);
  const ShapeAnalysis shapes(scalar, state.block, state.frame_bytes, schedule);
  return AllLanesTakeTurns(loops, schedule, state.block);
}

// Turns that end where they may. Otherwise the function is as it was.
Status TakeTurnsThatEnd(llvm::Function& scalar, const ModuleState& state, bool& done) {
  for (const bool in_memory : {false, true}) {
    const auto regions = FindTurnRegions(scalar, state.block);
    if (regions.empty()) return {};
    Before before(scalar);
    TUTTI_TRY(TakeTurnsIn(scalar, regions, in_memory));
    MakeCanonical(scalar);
    const bool suffices = EndsSuffice(scalar, state);
    done = suffices && (in_memory || !CarriesTooMuch(scalar, state, before.function()));
    if (done) return {};
    before.Restore();
    if (!suffices) return {};
  }
  return {};
}

Status TakeTurnsBounded(llvm::Function& scalar, const ModuleState& state) {
  bool done = false;
  if (state.options.turns_end) TUTTI_TRY(TakeTurnsThatEnd(scalar, state, done));
  if (done) return {};
  Before before(scalar);
  TUTTI_TRY(TakeTurns(scalar, /*in_memory=*/false));
  MakeCanonical(scalar);
  if (!CarriesTooMuch(scalar, state, before.function())) return {};
  before.Restore();
  TUTTI_TRY(TakeTurns(scalar, /*in_memory=*/true));
  MakeCanonical(scalar);
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
    TUTTI_TRY(TakeTurnsBounded(scalar, state));
  }
  if (needed == Separation::kNone && !has_copy) return {};
  if (llvm::verifyFunction(scalar))
    return Fail("LLVM made invalid code of the separate lanes of " + scalar.getName().str());
  return {};
}

}  // namespace tutti::compiler
