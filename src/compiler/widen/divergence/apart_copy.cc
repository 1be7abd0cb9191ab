// The copy's loop of turns has as places: the meeting places of its sites, the headers of loops that wait, and what the
// loop's form needs. If the original takes turns, its places are the tests of its sites instead of meeting places.
//
// Values that cross blocks are demoted to variables of the lane meanwhile and promoted again, except for those of the
// copy (lane_variables.h).
#include "compiler/widen/divergence/apart_copy.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "compiler/contract/intrinsics.h"
#include "compiler/widen/analysis/lane_variables.h"
#include "compiler/widen/analysis/meetings.h"
#include "compiler/widen/divergence/spin_loops.h"
#include "compiler/widen/divergence/turn_loop.h"

namespace tutti::compiler {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Value;

class Copier {
 public:
  Copier(llvm::Function& function, const Partings& partings, bool takes_turns)
      : function_(function),
        partings_(partings),
        takes_turns_(takes_turns),
        builder_(function.getContext()),
        variables_(function),
        turn_(variables_.New(builder_.getInt64Ty(), "turn")),
        leave_(SplitLeave(function, /*behind_a_place=*/takes_turns)),
        spin_loops_(SpinLoopHeaders(function)),
        headers_(FindLoopHeaders(function)),
        meetings_(function, variables_, turn_, partings.has_barriers) {
    for (const Meetings::Site& site : meetings_.sites()) {
      const auto headers = headers_.lookup(site.before);
      for (BasicBlock* part : {site.here, site.park, site.after}) headers_[part] = headers;
    }
    if (!takes_turns) return;
    meetings_.SplitQuestions();
    for (const Meetings::Site& site : meetings_.sites()) headers_[site.before] = headers_.lookup(site.here);
  }

  Status Run() {
    variables_.KeepWhatCrosses();
    const auto originals = meetings_.sites();
    variables_.Double(copies_, Shared());
    Copy();
    variables_.FindNeeded();
    meetings_.MoveTo(copies_);
    for (const Meetings::Site& site : originals) {
      if (!partings_.sites.contains(site.call)) {
        ForgetQuestion(site);
      } else if (!takes_turns_) {
        Part(site);
        GoToCopyOf(site.park);
      }
    }
    TurnLoop loop(function_, variables_, leave_, turn_);
    meetings_.Link();
    for (BasicBlock* place : meetings_.places()) loop.AddPlace(place);
    for (BasicBlock* gate : partings_.gates) Open(*gate, loop);
    for (BasicBlock* header : spin_loops_) loop.AddPlace(CopyOf(header));
    for (const Meetings::Site& site : meetings_.sites()) loop.AddHeaders(headers_, site.after);
    if (takes_turns_) TUTTI_TRY(TakeTurnsInOriginal(originals, loop));
    TUTTI_TRY(loop.Complete(headers_));
    const auto wanted = [&](BasicBlock* from, BasicBlock*, llvm::IRBuilder<>& builder) {
      return meetings_.Wanted(from, builder);
    };
    loop.Build(wanted, meetings_.wait(), /*parts=*/false);
    llvm::EliminateUnreachableBlocks(function_);
    variables_.Promote();
    return {};
  }

 private:
  BasicBlock* NewBlock(const char* name) { return BasicBlock::Create(function_.getContext(), name, &function_); }
  BasicBlock* CopyOf(const BasicBlock* block) const { return llvm::cast<BasicBlock>(copies_.lookup(block)); }

  // Variables that the copy sets for the original: only one loop's turn runs at a time, and there is one return.
  llvm::SmallPtrSet<const Value*, 4> Shared() const {
    llvm::SmallPtrSet<const Value*, 4> shared{turn_};
    for (const Instruction& instruction : *leave_) {
      if (const Value* variable = llvm::getLoadStorePointerOperand(&instruction)) shared.insert(variable);
    }
    return shared;
  }

  void Copy() {
    std::vector<BasicBlock*> blocks;
    for (BasicBlock& block : function_) {
      if (&block != leave_ && !block.isEntryBlock()) blocks.push_back(&block);
    }
    for (BasicBlock* block : blocks) {
      BasicBlock* copy = llvm::CloneBasicBlock(block, copies_, ".apart", &function_);
      copies_[block] = copy;
      of_copy_.insert(copy);
    }
    for (BasicBlock* block : blocks) {
      for (Instruction& instruction : *CopyOf(block)) {
        llvm::RemapInstruction(&instruction, copies_, llvm::RF_NoModuleLevelChanges | llvm::RF_IgnoreMissingLocals);
      }
      for (BasicBlock* header : headers_.lookup(block)) headers_[CopyOf(block)].push_back(CopyOf(header));
    }
  }

  // At a site where lanes never diverge the original needs no test.
  static void ForgetQuestion(const Meetings::Site& site) {
    auto* choice = llvm::cast<llvm::BranchInst>(site.before->getTerminator());
    auto* absent = llvm::cast<Instruction>(choice->getCondition());
    llvm::ReplaceInstWithInst(choice, llvm::BranchInst::Create(site.here));
    absent->eraseFromParent();
  }

  // At a site where they may, lanes that cannot meet all others there continue in the copy. The builder is on the path
  // of those lanes.
  void Part(const Meetings::Site& site) {
    BasicBlock* way = NewBlock("apart");
    builder_.SetInsertPoint(way);
    builder_.CreateCall(Declare("tutti.set_apart", builder_.getVoidTy()));
    site.before->getTerminator()->replaceSuccessorWith(site.park, way);
  }

  // Lanes may be pending at `block` when others switch to the copy; they then continue at `over`.
  void AskAt(BasicBlock& block, BasicBlock* over) {
    BasicBlock* rest = llvm::SplitBlock(&block, block.begin());
    block.getTerminator()->eraseFromParent();
    builder_.SetInsertPoint(&block);
    builder_.CreateCondBr(builder_.CreateCall(Declare("tutti.is_apart", builder_.getInt1Ty())), over, rest,
                          llvm::MDBuilder(builder_.getContext()).createUnlikelyBranchWeights());
  }

  void Open(BasicBlock& block, TurnLoop& loop) {
    BasicBlock* over = NewBlock("over");
    AskAt(block, over);
    builder_.SetInsertPoint(over);
    GoToCopyOf(&block);
    loop.AddHeaders(headers_, CopyOf(&block));
  }

  void GoToCopyOf(BasicBlock* block) {
    variables_.TakeAlong(builder_, {CopyOf(block)});
    builder_.CreateBr(CopyOf(block));
  }

  Status TakeTurnsInOriginal(llvm::ArrayRef<Meetings::Site> sites, TurnLoop& of_copy) {
    TurnLoop loop(function_, variables_, leave_, variables_.New(builder_.getInt64Ty(), "turn"), of_copy_);
    llvm::DenseMap<const BasicBlock*, const Meetings::Site*> questions;
    for (BasicBlock* header : spin_loops_) loop.AddPlace(header);
    for (const Meetings::Site& site : sites) {
      loop.AddPlace(site.before);
      questions[site.before] = &site;
    }
    TUTTI_TRY(loop.Complete(headers_));
    loop.Build(
        [&](BasicBlock*, BasicBlock* to, llvm::IRBuilder<>& builder) {
          const Meetings::Site* site = questions.lookup(to);
          return site != nullptr ? Members(*site, builder) : nullptr;
        },
        nullptr, /*parts=*/true);
    for (const Meetings::Site& site : sites) {
      if (!partings_.sites.contains(site.call)) continue;
      Part(site);
      builder_.CreateBr(loop.next());  // with all others
    }
    OpenLoop(loop, of_copy);
    return {};
  }

  static Value* Members(const Meetings::Site& site, llvm::IRBuilder<>& builder) {
    if (!site.of_members) return builder.getInt32(~0u);
    Value* members = site.call->getArgOperand(0);
    auto* variable = llvm::dyn_cast<llvm::LoadInst>(members);
    if (variable == nullptr || variable->getParent() != site.here) return members;  // dominates all
    return builder.CreateLoad(members->getType(), variable->getPointerOperand());
  }

  // Sends lanes from the original's loop to the copies of the places at which they are.
  void OpenLoop(const TurnLoop& loop, TurnLoop& of_copy) {
    BasicBlock* over = NewBlock("over");
    for (BasicBlock* gate : {loop.start(), loop.next()}) AskAt(*gate, over);
    builder_.SetInsertPoint(over);
    std::vector<BasicBlock*> copies;
    for (BasicBlock* place : loop.places()) copies.push_back(CopyOf(place));
    variables_.TakeAlong(builder_, copies);
    Value* place = builder_.CreateLoad(builder_.getInt32Ty(), loop.place());
    llvm::SwitchInst* choice = builder_.CreateSwitch(place, leave_, static_cast<unsigned>(copies.size()));
    for (uint32_t i = 0; i < copies.size(); ++i) {
      choice->addCase(builder_.getInt32(i), copies[i]);
      of_copy.AddHeaders(headers_, copies[i]);
    }
  }

  llvm::FunctionCallee Declare(IntrinsicName name, llvm::Type* result) {
    return function_.getParent()->getOrInsertFunction(name.get(), llvm::FunctionType::get(result, false));
  }

  llvm::Function& function_;
  const Partings& partings_;
  bool takes_turns_;
  llvm::IRBuilder<> builder_;
  LaneVariables variables_;
  llvm::AllocaInst* turn_;
  BasicBlock* leave_;
  std::vector<BasicBlock*> spin_loops_;  // headers
  LoopHeaders headers_;
  Meetings meetings_;
  llvm::ValueToValueMapTy copies_;
  TurnLoop::Blocks of_copy_;
};

}  // namespace

Status AddApartCopy(llvm::Function& function, const Partings& partings, bool takes_turns) {
  return Copier(function, partings, takes_turns).Run();
}

}  // namespace tutti::compiler
