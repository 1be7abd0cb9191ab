// Where lanes that take turns in an apart copy (apart_copy.h) reconverge for warp operations and barriers, whichever
// code path leads each of them there.
//
// Each operation is a *site*. If all lanes that it needs are there, it executes in place. Otherwise the lanes that are
// there are *parked*. The sites of the original are split the same way, and lead to their counterparts in the copy.
//
//     before:  if (tutti.absent(members)) goto park; else goto here
//     here:    the operation; goto after
//     park:    arguments and number of the site become variables of the lane; goto its meeting place
//
// All sites of one kind of operation with members share a meeting place. The operation executes there for the lanes
// whose members have all arrived, with each lane's own arguments, and each lane continues behind its own site. Lanes
// whose partners can no longer arrive go back to the site, whose own operation reports which lanes are missing.
//
// At a barrier of the block a lane arrives when it is parked; all wait at one place, each for the phase in which it
// arrived. Where lanes cannot reach different barriers none of this is needed: a barrier has a place of its own, where
// all lanes that have not ended gather, as do other operations of whole warps. Consecutive .aligned instructions of a
// block are one site: the lanes that gathered for the first are there for the rest.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include <vector>

#include "compiler/contract/intrinsics.h"
#include "compiler/widen/analysis/intrinsics.h"
#include "compiler/widen/analysis/lane_variables.h"

namespace tutti::compiler {

class Meetings {
 public:
  struct Site {
    llvm::CallInst* call;
    Intrinsic kind;
    bool of_members;  // and not of the whole warp
    llvm::BasicBlock *before, *here, *park, *after;
    llvm::AllocaInst* result;  // or null
  };

  // `turn` holds what tutti.turn returned last. `barriers_apart`: lanes may reach different barriers.
  Meetings(llvm::Function& function, LaneVariables& variables, llvm::AllocaInst* turn, bool barriers_apart);

  const std::vector<Site>& sites() const { return sites_; }
  // Moves the test of each site into a block of its own.
  void SplitQuestions();
  // From now on the sites are those of the copy.
  void MoveTo(const llvm::ValueToValueMapTy& copies);
  // Connects each park block with its meeting place.
  void Link();

  // Meeting places; those of operations with members first.
  const std::vector<llvm::BasicBlock*>& places() const { return places_; }
  // The block in which lanes wait for barriers, or null.
  llvm::BasicBlock* wait() const { return wait_; }
  // The lanes that a lane needs to meet when it goes to a place from the block `from`.
  llvm::Value* Wanted(const llvm::BasicBlock* from, llvm::IRBuilder<>& builder) const;

 private:
  struct Kind {
    std::vector<llvm::AllocaInst*> arguments;
    std::vector<size_t> sites;
  };

  void FindSites();
  void Split(llvm::CallInst& call, Intrinsic kind);
  void FillPark(const Site& site);
  void LinkKind(llvm::Function* operation, const Kind& kind);
  void LinkWaits();
  void LinkAlone(const Site& site);
  bool IsApart(Intrinsic kind) const;
  llvm::Value* IsStuck();
  llvm::FunctionCallee Declare(IntrinsicName name, llvm::Type* result, llvm::ArrayRef<llvm::Type*> parameters);
  llvm::BasicBlock* NewBlock(const llvm::Twine& name);
  // Ends the builder's block with a switch over each lane's site number to `targets`, one per site, in the same order.
  void SwitchOverSites(llvm::ArrayRef<size_t> sites, llvm::ArrayRef<llvm::BasicBlock*> targets);

  llvm::Function& function_;
  LaneVariables& variables_;
  llvm::AllocaInst* turn_;
  bool barriers_apart_;
  llvm::IRBuilder<> builder_;
  llvm::AllocaInst *site_ = nullptr, *barrier_ = nullptr, *phase_ = nullptr;
  std::vector<Site> sites_;
  llvm::MapVector<llvm::Function*, Kind> kinds_;
  std::vector<llvm::BasicBlock*> places_;
  llvm::BasicBlock* wait_ = nullptr;
  llvm::DenseMap<const llvm::BasicBlock*, llvm::Value*> wanted_;  // a number, or the variable that holds it
};

}  // namespace tutti::compiler
