// A loop around blocks of a function in which lanes take turns: each lane has a program counter, its *place*, and a
// dispatcher.
//
//     start:    place = ...                              // of this lane: where it goes on
//     turns:    turn = tutti.turn(place, members, turn)  // a place and lanes, one answer for all (runtime/turn.cc)
//               if (this lane is not among them) goto next
//               switch (the place) { ... }               // uniform: lanes of one place run as any code of a warp does
//     ...       code up to the next place: place = ..., members = ..., goto next
//     next:     if (place == the end) leave; goto turns
//
// The rest of widening sees a loop with an `if` and a uniform switch, and needs to know nothing more. Every lane gets
// turns, so none waits for ever for one that could continue.
//
// Code between two places is not interrupted, and lanes that diverge there reconverge there. The caller names places;
// those that the loop's form needs are added:
//   * headers of loops that a place inside of them enters in the middle;
//   * blocks that can be reached both from a place and from the function's entry without passing one.
// What only the entry reaches stays in front of the loop, and as fast as before.
//
// Values that are live from one turn to another must be variables of the lane meanwhile (lane_variables.h): the
// caller's part.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>

#include <functional>

#include "base/error.h"
#include "compiler/widen/analysis/lane_variables.h"

namespace tutti::compiler {

// For each block the headers of the loops around it, innermost first.
using LoopHeaders = llvm::DenseMap<const llvm::BasicBlock*, llvm::SmallVector<llvm::BasicBlock*, 2>>;
LoopHeaders FindLoopHeaders(llvm::Function& function);
// Puts the return into a block by itself: a lane that reaches it has ended. With `behind_a_place` another block is in
// front of it, which may become a place: lanes on their way to the end get there before others begin to spin for what
// they still have to do.
llvm::BasicBlock* SplitLeave(llvm::Function& function, bool behind_a_place);

class TurnLoop {
 public:
  using Blocks = llvm::SmallPtrSet<llvm::BasicBlock*, 32>;
  // The lanes that a lane needs to meet when it goes from one block to a place.
  using Wanted = std::function<llvm::Value*(llvm::BasicBlock* from, llvm::BasicBlock* to, llvm::IRBuilder<>&)>;

  // `leave`: where lanes go at their end. `turn` holds what tutti.turn returned last. Blocks `outside` are not part of
  // this loop, though its blocks may lead to them.
  TurnLoop(llvm::Function& function, LaneVariables& variables, llvm::BasicBlock* leave, llvm::AllocaInst* turn,
           const Blocks& outside = {});

  void AddPlace(llvm::BasicBlock* block) { places_.insert(block); }
  // Lanes that get a turn at this place leave the loop. No way leads back from it.
  void EndAt(llvm::BasicBlock* block);
  // The block may be entered other than through the headers of its loops.
  void AddHeaders(const LoopHeaders& headers, const llvm::BasicBlock* block);
  // Adds what the loop's form needs.
  Status Complete(const LoopHeaders& headers);
  // `waiting`: the place where lanes wait for barriers, or null. `parts`: lanes at two places that wait for each other
  // are told that they are stuck.
  void Build(const Wanted& wanted, const llvm::BasicBlock* waiting, bool parts);

  const llvm::SetVector<llvm::BasicBlock*>& places() const { return places_; }
  llvm::BasicBlock* start() const { return start_; }
  llvm::BasicBlock* next() const { return next_; }
  llvm::AllocaInst* place() const { return place_; }

 private:
  llvm::BasicBlock* NewBlock(const char* name);
  Blocks Reach(std::vector<llvm::BasicBlock*> work) const;
  bool MayEndLanes() const;
  uint32_t NumberOf(const llvm::BasicBlock* place) const;
  llvm::ConstantInt* End();
  void BuildTurn(const llvm::BasicBlock* waiting, bool parts);
  void Rewire(const Wanted& wanted);
  void GoTo(llvm::BasicBlock* to, llvm::BasicBlock* way, llvm::Value* members);
  void EndLane(llvm::Instruction& terminator);

  llvm::Function& function_;
  LaneVariables& variables_;
  llvm::BasicBlock* leave_;
  llvm::AllocaInst* turn_;
  Blocks outside_;
  llvm::IRBuilder<> builder_;
  llvm::SetVector<llvm::BasicBlock*> places_;
  llvm::BasicBlock* end_ = nullptr;  // a place, or null
  Blocks before_, turns_;  // blocks in front of the loop, and in it
  llvm::BasicBlock *start_ = nullptr, *next_ = nullptr;
  llvm::AllocaInst *place_ = nullptr, *wanted_ = nullptr;
};

}  // namespace tutti::compiler
