// Operations at which lanes that take turns in a copy of the function (apart_copy.h) meet, wherever in it they come to
// them.
//
// Each is a *site*: if all lanes that it needs are here, it is done as in any other code; else its lanes are *parked*.
// Sites are split in the original, and then lead to their copies' places there.
//
//     before:  if (tutti.absent(members)) goto park; else goto here
//     here:    the operation; goto after
//     park:    arguments and number of the site become variables of the lane; goto its meeting place
//
// Operations that name members have one meeting place for all sites of a kind: the operation is done there, with the
// lanes' own arguments, for those whose members have all come, and each lane goes on behind its site. Lanes that nobody
// can reach any more go back to the site, whose own operation says who is missed, and where.
//
// At a barrier of the block lanes arrive when they are parked, and all wait at one place for the phase that each has
// arrived in. Where lanes cannot come to different barriers this is not needed: a barrier has a place of its own, where
// all gather that have not ended, as have the other operations of whole warps. Those of .aligned instructions that
// follow one another in a block are one site: who has gathered for the first is there for the rest.
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

  // `turn` holds what tutti.turn returned last. `barriers_apart`: lanes may come to different barriers.
  Meetings(llvm::Function& function, LaneVariables& variables, llvm::AllocaInst* turn, bool barriers_apart);

  const std::vector<Site>& sites() const { return sites_; }
  // Gives what a site asks a block of its own.
  void SplitQuestions();
  // The copies stand for the sites from now on.
  void MoveTo(const llvm::ValueToValueMapTy& copies);
  // Leads the parks to their places.
  void Link();

  // Places, those of operations with members first.
  const std::vector<llvm::BasicBlock*>& places() const { return places_; }
  // Where lanes wait for barriers, or null.
  llvm::BasicBlock* wait() const { return wait_; }
  // The lanes that a lane wants to meet which goes to a place from the block `from`.
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
  // Ends the builder's block with a jump to one of `targets`, of sites in the same order, by the lane's number.
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
