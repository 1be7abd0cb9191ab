// Lanes take turns.
//
// The order of schedule.h makes lanes wait for each other wherever they can meet again, which is right and fast as long
// as nobody waits for the one who waits for him. Since Volta each thread has its own program counter and all of them
// are served in turn. So are they here, at the price of speed, in functions that need it, and only from where they need
// it.
//
// The function is rewritten as scalar code, before all else of widening, as a loop around its blocks:
//
//     start:    place = ...                              // of this lane: where it goes on
//     turns:    turn = tutti.turn(place, members, turn)  // a place and lanes, one answer for all (runtime/turn.cc)
//               if (this lane is not among them) goto next
//               switch (the place) { ... }               // uniform: lanes of one place run as any code of a warp does
//     ...       code up to the next place: place = ..., members = ..., goto next
//     next:     if (place == the end) leave; goto turns
//
// Widening sees a loop with an `if` and a uniform switch, and needs to know nothing more. Every lane gets turns, so
// none waits for ever for one that could go on.
//
// Places are as few as will do. What lies between two is not interrupted, and lanes that part there meet there. They
// are:
//   * the headers of loops that wait: round the loop is a turn;
//   * where lanes come together, barriers and warp operations (meetings.h): `members` are the lanes a lane wants to meet
//     there; who has ended is not missed, as .sync asks for;
//   * headers of loops that are entered in their middle, from such a place;
//   * blocks that can be reached both from a place and from the function's entry without passing one.
// What only the entry reaches stays in front of the loop and as fast as before.
//
// Functions whose lanes may come apart at warp operations and barriers, but hardly ever do, are there twice: as they
// are, and as a copy whose lanes take turns. A site that misses lanes sets a flag of the warp and goes to its copy; the
// blocks where others may be pending then look at the flag and go to theirs. All come to `start`. Nobody comes back.
//
// Values that cross blocks are variables of the lane meanwhile, and become values again, but for those of the copy
// (lane_variables.h).
#include "compiler/widen/turns.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <optional>

#include "compiler/widen/lane_variables.h"
#include "compiler/widen/meetings.h"
#include "compiler/widen/spin_loops.h"
#include "guest/kernel_abi.h"

namespace tutti::compiler {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Value;
using Blocks = llvm::SmallPtrSet<BasicBlock*, 32>;

constexpr uint32_t kPlaceMask = 0x7fff;  // of what tutti.turn returns; the highest is the end, and no place at all
constexpr size_t kMostCopied = 10000;    // instructions
constexpr size_t kMostSites = 64;        // where lanes may part: each has ways from and to the loop of turns

class TurnTaker {
 public:
  TurnTaker(llvm::Function& function, bool barriers_apart)
      : function_(function),
        builder_(function.getContext()),
        variables_(function),
        turn_(variables_.New(builder_.getInt64Ty(), "turn")) {
    SplitLeave();
    FindLoops();
    meetings_.emplace(function, variables_, turn_, barriers_apart);
    for (const Meetings::Site& site : meetings_->sites()) {
      const auto headers = headers_.lookup(site.before);
      for (BasicBlock* part : {site.here, site.park, site.after}) headers_[part] = headers;
    }
    variables_.KeepWhatCrosses();
  }

  Status Run() {
    for (BasicBlock* header : spin_loops_) places_.insert(header);
    return Finish();
  }

  Status RunCopy(const Partings& partings) {
    const auto originals = meetings_->sites();
    variables_.Double(copies_, turn_);
    Copy();
    variables_.FindNeeded();
    meetings_->MoveTo(copies_);
    for (const Meetings::Site& site : originals) Rejoin(site, partings.sites.contains(site.call));
    for (BasicBlock* gate : partings.gates) Open(*gate);
    for (BasicBlock* header : spin_loops_) places_.insert(CopyOf(header));
    return Finish();
  }

 private:
  BasicBlock* NewBlock(const char* name) { return BasicBlock::Create(function_.getContext(), name, &function_); }
  BasicBlock* CopyOf(BasicBlock* block) const { return llvm::cast<BasicBlock>(copies_.lookup(block)); }

  // The return, by itself; what is before it may be what others wait for.
  void SplitLeave() {
    for (BasicBlock& block : function_) {
      if (llvm::isa<llvm::ReturnInst>(block.getTerminator())) leave_ = llvm::SplitBlock(&block, block.getTerminator());
      if (leave_ != nullptr) return;
    }
    leave_ = NewBlock("leave");
    builder_.SetInsertPoint(leave_);
    llvm::Type* type = function_.getReturnType();
    if (type->isVoidTy()) {
      builder_.CreateRetVoid();
    } else {
      builder_.CreateRet(llvm::Constant::getNullValue(type));
    }
  }

  void FindLoops() {
    const llvm::DominatorTree dominators(function_);
    const llvm::LoopInfo loops(dominators);
    for (const llvm::Loop* loop : loops.getLoopsInPreorder()) {
      if (IsSpinLoop(loops, *loop)) spin_loops_.push_back(loop->getHeader());
    }
    for (BasicBlock& block : function_) {
      for (const llvm::Loop* loop = loops.getLoopFor(&block); loop != nullptr; loop = loop->getParentLoop()) {
        headers_[&block].push_back(loop->getHeader());
      }
    }
  }

  void Copy() {
    std::vector<BasicBlock*> blocks, made;
    for (BasicBlock& block : function_) {
      if (&block != leave_ && !block.isEntryBlock()) blocks.push_back(&block);
    }
    for (BasicBlock* block : blocks) {
      made.push_back(llvm::CloneBasicBlock(block, copies_, ".apart", &function_));
      copies_[block] = made.back();
    }
    for (BasicBlock* block : made) {
      for (Instruction& instruction : *block) {
        llvm::RemapInstruction(&instruction, copies_, llvm::RF_NoModuleLevelChanges | llvm::RF_IgnoreMissingLocals);
      }
    }
    for (BasicBlock* block : blocks) {
      for (BasicBlock* header : headers_.lookup(block)) headers_[CopyOf(block)].push_back(CopyOf(header));
    }
  }

  // The original of a site: who cannot meet all others there goes on in the copy, if that may be at all.
  void Rejoin(const Meetings::Site& site, bool may_part) {
    if (!may_part) {
      auto* choice = llvm::cast<llvm::BranchInst>(site.before->getTerminator());
      auto* absent = llvm::cast<Instruction>(choice->getCondition());
      llvm::ReplaceInstWithInst(choice, llvm::BranchInst::Create(site.here));
      absent->eraseFromParent();
      return;
    }
    BasicBlock* gate = NewBlock("apart");
    builder_.SetInsertPoint(gate);
    builder_.CreateCall(Declare("tutti.set_apart", builder_.getVoidTy()));
    GoToCopyOf(site.park);
    site.before->getTerminator()->replaceSuccessorWith(site.park, gate);
  }

  // Lanes may be pending at `block` when others go to the copy. They go to its copy, then.
  void Open(BasicBlock& block) {
    BasicBlock* rest = llvm::SplitBlock(&block, block.begin());
    BasicBlock* over = NewBlock("over");
    block.getTerminator()->eraseFromParent();
    builder_.SetInsertPoint(&block);
    builder_.CreateCondBr(builder_.CreateCall(Declare("tutti.is_apart", builder_.getInt1Ty())), over, rest,
                          llvm::MDBuilder(builder_.getContext()).createUnlikelyBranchWeights());
    builder_.SetInsertPoint(over);
    GoToCopyOf(&block);
    AddHeaders(CopyOf(&block));
  }

  void GoToCopyOf(BasicBlock* block) {
    variables_.TakeAlong(builder_, CopyOf(block));
    builder_.CreateBr(CopyOf(block));
  }

  llvm::FunctionCallee Declare(const char* name, llvm::Type* result) {
    return function_.getParent()->getOrInsertFunction(name, llvm::FunctionType::get(result, false));
  }

  Status Finish() {
    meetings_->Link();
    const auto others = places_.takeVector();
    places_.insert(meetings_->places().begin(), meetings_->places().end());
    places_.insert(others.begin(), others.end());
    for (const Meetings::Site& site : meetings_->sites()) AddHeaders(site.after);
    ChoosePlaces();
    if (places_.size() >= kPlaceMask)
      return Fail("too many places at which the lanes of " + function_.getName().str() + " wait for each other");
    BuildLoop();
    Rewire();
    variables_.Promote();
    return {};
  }

  // The block may be come to from elsewhere than where its loops begin.
  void AddHeaders(BasicBlock* block) {
    for (BasicBlock* header : headers_.lookup(block)) {
      if (header != block) places_.insert(header);
    }
  }

  void ChoosePlaces() {
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i < places_.size(); ++i) AddHeaders(places_[i]);
      before_ = Reach({&function_.getEntryBlock()});
      turns_ = Reach({places_.begin(), places_.end()});
      for (BasicBlock& block : function_) {
        if (!before_.contains(&block) || !turns_.contains(&block)) continue;
        const bool first = llvm::any_of(llvm::predecessors(&block), [&](BasicBlock* from) {
          return before_.contains(from) && !turns_.contains(from);
        });
        changed |= first && places_.insert(&block);
      }
    }
  }

  // Blocks that can run after one of `from` without a turn between.
  Blocks Reach(std::vector<BasicBlock*> work) const {
    Blocks reached(work.begin(), work.end());
    while (!work.empty()) {
      BasicBlock* block = work.back();
      work.pop_back();
      for (BasicBlock* to : llvm::successors(block)) {
        if (to != leave_ && !places_.contains(to) && reached.insert(to).second) work.push_back(to);
      }
    }
    return reached;
  }

  uint32_t NumberOf(const BasicBlock* place) const {
    return static_cast<uint32_t>(llvm::find(places_, place) - places_.begin());
  }

  void BuildLoop() {
    llvm::Type *i32 = builder_.getInt32Ty(), *i64 = builder_.getInt64Ty();
    place_ = variables_.New(i32, "place");
    wanted_ = variables_.New(i32, "members");
    start_ = NewBlock("start");
    next_ = NewBlock("next_turn");
    auto *turns = NewBlock("turns"), *choice = NewBlock("turn");
    builder_.SetInsertPoint(start_);
    builder_.CreateBr(turns);

    builder_.SetInsertPoint(turns);
    llvm::Module& module = *function_.getParent();
    llvm::FunctionCallee take =
        module.getOrInsertFunction("tutti.turn", llvm::FunctionType::get(i64, {i32, i32, i64, i32}, false));
    Value* waiting = meetings_->wait() != nullptr ? builder_.getInt32(NumberOf(meetings_->wait())) : End();
    Value* turn = builder_.CreateCall(take, {builder_.CreateLoad(i32, place_), builder_.CreateLoad(i32, wanted_),
                                             builder_.CreateLoad(i64, turn_), waiting});
    builder_.CreateStore(turn, turn_);
    Value* place = builder_.CreateAnd(builder_.CreateTrunc(turn, i32), kPlaceMask);
    Value* lanes = builder_.CreateTrunc(builder_.CreateLShr(turn, 32), i32);
    Value* lane = builder_.CreateCall(Declare("tutti.laneid", i32));
    Value* own = builder_.CreateTrunc(builder_.CreateLShr(lanes, lane), builder_.getInt1Ty());
    builder_.CreateCondBr(own, choice, next_);

    builder_.SetInsertPoint(choice);
    llvm::SwitchInst* all = builder_.CreateSwitch(place, places_[0], static_cast<unsigned>(places_.size()));
    for (uint32_t i = 1; i < places_.size(); ++i) all->addCase(builder_.getInt32(i), places_[i]);

    builder_.SetInsertPoint(next_);
    Value* ended = builder_.CreateICmpEQ(builder_.CreateLoad(i32, place_), End());
    builder_.CreateCondBr(ended, leave_, turns);
  }

  llvm::ConstantInt* End() { return builder_.getInt32(kPlaceMask); }

  // Says at the builder's place where the lane goes on that comes from `from`.
  void GoTo(BasicBlock* to, BasicBlock* way, BasicBlock* from) {
    builder_.CreateStore(places_.contains(to) ? builder_.getInt32(NumberOf(to)) : End(), place_);
    builder_.CreateStore(meetings_->Wanted(from, builder_), wanted_);
    builder_.CreateBr(way);
  }

  void Rewire() {
    std::vector<BasicBlock*> blocks(before_.begin(), before_.end());
    blocks.insert(blocks.end(), turns_.begin(), turns_.end());
    for (BasicBlock* block : blocks) {
      const bool turns = turns_.contains(block);
      Instruction* terminator = block->getTerminator();
      if (turns && llvm::isa<llvm::UnreachableInst>(terminator)) {
        EndLane(*terminator);
        continue;
      }
      for (unsigned i = 0; i < terminator->getNumSuccessors(); ++i) {
        BasicBlock* to = terminator->getSuccessor(i);
        if (!places_.contains(to) && !(turns && to == leave_)) continue;
        BasicBlock* edge = NewBlock("edge");
        builder_.SetInsertPoint(edge);
        GoTo(to, turns ? next_ : start_, block);
        terminator->setSuccessor(i, edge);
      }
    }
  }

  // A trap is taken at once, not when all others have left the loop.
  void EndLane(Instruction& terminator) {
    builder_.SetInsertPoint(&terminator);
    const auto* call = llvm::dyn_cast_or_null<llvm::CallInst>(terminator.getPrevNode());
    if (call == nullptr || !call->doesNotReturn()) {
      llvm::FunctionCallee trap = function_.getParent()->getOrInsertFunction(
          "tutti.trap", llvm::FunctionType::get(builder_.getVoidTy(), {builder_.getInt32Ty()}, false));
      builder_.CreateCall(trap, {builder_.getInt32(static_cast<uint32_t>(guest::FaultKind::kLaunchFailed))});
    }
    GoTo(leave_, next_, terminator.getParent());
    terminator.eraseFromParent();
  }

  llvm::Function& function_;
  llvm::IRBuilder<> builder_;
  LaneVariables variables_;
  llvm::AllocaInst* turn_;
  std::optional<Meetings> meetings_;
  llvm::ValueToValueMapTy copies_;
  std::vector<BasicBlock*> spin_loops_;                                          // headers
  llvm::DenseMap<const BasicBlock*, llvm::SmallVector<BasicBlock*, 2>> headers_;  // of the loops around a block
  llvm::SetVector<BasicBlock*> places_;
  Blocks before_, turns_;                        // blocks in front of the loop, and in it
  BasicBlock *start_ = nullptr, *next_ = nullptr, *leave_ = nullptr;
  llvm::AllocaInst *place_ = nullptr, *wanted_ = nullptr;
};

}  // namespace

Status TakeTurns(llvm::Function& function, bool barriers_apart) { return TurnTaker(function, barriers_apart).Run(); }

Status TakeTurnsWhenApart(llvm::Function& function, const Partings& partings) {
  if (function.getInstructionCount() > kMostCopied || partings.sites.size() > kMostSites) return {};
  return TurnTaker(function, partings.has_barriers).RunCopy(partings);
}

}  // namespace tutti::compiler
