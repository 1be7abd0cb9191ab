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
//   * where lanes come together, barriers and warp operations: `members` are the lanes a lane wants to meet there;
//     the place gets its turn when these have come (who has ended is not missed), as .sync asks for;
//   * headers of loops around one of these, so that no loop remains that can be entered in its middle;
//   * blocks that can be reached both from a place and from the function's entry without passing one.
// What only the entry reaches stays in front of the loop and as fast as before.
//
// Values that cross from one turn to another, or that their definition no longer dominates, become variables of the
// lane: stack slots, then phis again.
#include "compiler/widen/turns.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/ValueHandle.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include "compiler/widen/intrinsics.h"
#include "compiler/widen/spin_loops.h"
#include "guest/kernel_abi.h"

namespace tutti::compiler {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Value;
using Blocks = llvm::SmallPtrSet<BasicBlock*, 32>;

constexpr uint32_t kPlaceMask = 0xffff;  // of what tutti.turn returns; the highest is the end

class TurnTaker {
 public:
  explicit TurnTaker(llvm::Function& function) : function_(function), builder_(function.getContext()) {}

  Status Run() {
    FindWaits();
    SplitLeave();
    SplitMeetings();
    ChoosePlaces();
    if (places_.size() >= kPlaceMask)
      return Fail("too many places at which the lanes of " + function_.getName().str() + " wait for each other");
    DemotePlacePhis();
    BuildLoop();
    Rewire();
    Repair();
    return {};
  }

 private:
  BasicBlock* NewBlock(const char* name) { return BasicBlock::Create(function_.getContext(), name, &function_); }

  void FindWaits() {
    const llvm::DominatorTree dominators(function_);
    const llvm::LoopInfo loops(dominators);
    for (const llvm::Loop* loop : loops.getLoopsInPreorder()) {
      if (IsSpinLoop(loops, *loop)) places_.insert(loop->getHeader());
    }
    std::vector<llvm::AllocaInst*> allocas;
    for (Instruction& instruction : function_.getEntryBlock()) {
      if (auto* alloca = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) allocas.push_back(alloca);
    }
    for (llvm::AllocaInst* alloca : allocas) alloca->moveBefore(&*function_.getEntryBlock().begin());
  }

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

  // Each operation at which lanes meet starts a block, unless they have met for it already.
  void SplitMeetings() {
    std::vector<BasicBlock*> blocks;
    for (BasicBlock& block : function_) blocks.push_back(&block);
    for (BasicBlock* block : blocks) {
      Value* met = nullptr;
      for (auto next = block->begin(); next != block->end();) {
        Instruction& instruction = *next++;
        const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
        if (call == nullptr) continue;
        const Intrinsic kind = ClassifyCall(*call).kind;
        if (!IsMeetingOfAll(kind) && !IsMeetingOfMembers(kind)) continue;
        Value* members = IsMeetingOfAll(kind) ? builder_.getInt32(~0u) : call->getArgOperand(0);
        if (met == members || met == builder_.getInt32(~0u)) continue;
        block = llvm::SplitBlock(block, &instruction);
        next = std::next(instruction.getIterator());
        places_.insert(block);
        members_[block] = met = members;
      }
    }
  }

  void ChoosePlaces() {
    const llvm::DominatorTree dominators(function_);
    const llvm::LoopInfo loops(dominators);
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i < places_.size(); ++i) {
        for (const llvm::Loop* loop = loops.getLoopFor(places_[i]); loop != nullptr; loop = loop->getParentLoop())
          places_.insert(loop->getHeader());
      }
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

  llvm::AllocaInst* Keep(llvm::AllocaInst* slot) {
    new llvm::StoreInst(llvm::Constant::getNullValue(slot->getAllocatedType()), slot, std::next(slot->getIterator()));
    slots_.push_back(slot);
    return slot;
  }
  llvm::AllocaInst* NewSlot(llvm::Type* type, const char* name) {
    return Keep(new llvm::AllocaInst(type, 0, name, function_.getEntryBlock().begin()));
  }

  void DemotePlacePhis() {
    for (BasicBlock* place : places_) {
      std::vector<llvm::PHINode*> phis;
      for (llvm::PHINode& phi : place->phis()) phis.push_back(&phi);
      for (llvm::PHINode* phi : phis) {
        if (phi->use_empty()) {
          phi->eraseFromParent();
        } else {
          Keep(llvm::DemotePHIToStack(phi));
        }
      }
    }
  }

  void BuildLoop() {
    llvm::Type *i32 = builder_.getInt32Ty(), *i64 = builder_.getInt64Ty();
    place_ = NewSlot(i32, "place");
    wanted_ = NewSlot(i32, "members");
    llvm::AllocaInst* state = NewSlot(i64, "turn");
    start_ = NewBlock("start");
    next_ = NewBlock("next_turn");
    auto *turns = NewBlock("turns"), *choice = NewBlock("turn");
    builder_.SetInsertPoint(start_);
    builder_.CreateBr(turns);

    builder_.SetInsertPoint(turns);
    llvm::Module& module = *function_.getParent();
    llvm::FunctionCallee take =
        module.getOrInsertFunction("tutti.turn", llvm::FunctionType::get(i64, {i32, i32, i64}, false));
    llvm::FunctionCallee lane = module.getOrInsertFunction("tutti.laneid", llvm::FunctionType::get(i32, false));
    Value* turn = builder_.CreateCall(
        take, {builder_.CreateLoad(i32, place_), builder_.CreateLoad(i32, wanted_), builder_.CreateLoad(i64, state)});
    builder_.CreateStore(turn, state);
    Value* place = builder_.CreateAnd(builder_.CreateTrunc(turn, i32), kPlaceMask);
    Value* lanes = builder_.CreateTrunc(builder_.CreateLShr(turn, 32), i32);
    Value* own = builder_.CreateTrunc(builder_.CreateLShr(lanes, builder_.CreateCall(lane)), builder_.getInt1Ty());
    builder_.CreateCondBr(own, choice, next_);

    builder_.SetInsertPoint(choice);
    llvm::SwitchInst* all = builder_.CreateSwitch(place, places_[0], static_cast<unsigned>(places_.size()));
    for (uint32_t i = 1; i < places_.size(); ++i) all->addCase(builder_.getInt32(i), places_[i]);

    builder_.SetInsertPoint(next_);
    Value* ended = builder_.CreateICmpEQ(builder_.CreateLoad(i32, place_), End());
    builder_.CreateCondBr(ended, leave_, turns);
  }

  llvm::ConstantInt* End() { return builder_.getInt32(kPlaceMask); }

  // Says at the builder's place where the lane goes on.
  void GoTo(BasicBlock* to, BasicBlock* way) {
    const auto found = llvm::find(places_, to);
    const bool ends = found == places_.end();
    builder_.CreateStore(ends ? End() : builder_.getInt32(static_cast<uint32_t>(found - places_.begin())), place_);
    Value* members = members_.lookup(to);
    builder_.CreateStore(members != nullptr ? members : builder_.getInt32(0), wanted_);
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
        GoTo(to, turns ? next_ : start_);
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
    GoTo(leave_, next_);
    terminator.eraseFromParent();
  }

  void Repair() {
    {
      const llvm::DominatorTree dominators(function_);
      std::vector<Instruction*> lost;
      for (Instruction& instruction : llvm::instructions(function_)) {
        const auto is_lost = [&](const llvm::Use& use) { return !dominators.dominates(&instruction, use); };
        if (llvm::any_of(instruction.uses(), is_lost)) lost.push_back(&instruction);
      }
      for (Instruction* instruction : lost) {
        if (llvm::AllocaInst* slot = llvm::DemoteRegToStack(*instruction)) Keep(slot);
      }
    }
    llvm::DominatorTree dominators(function_);
    llvm::PromoteMemToReg(slots_, dominators);
  }

  llvm::Function& function_;
  llvm::IRBuilder<> builder_;
  llvm::SetVector<BasicBlock*> places_;
  llvm::DenseMap<BasicBlock*, llvm::WeakTrackingVH> members_;  // of places where lanes meet; phis among them become loads
  Blocks before_, turns_;                        // blocks in front of the loop, and in it
  BasicBlock *start_ = nullptr, *next_ = nullptr, *leave_ = nullptr;
  llvm::AllocaInst *place_ = nullptr, *wanted_ = nullptr;
  std::vector<llvm::AllocaInst*> slots_;
};

}  // namespace

Status TakeTurns(llvm::Function& function) { return TurnTaker(function).Run(); }

}  // namespace tutti::compiler
