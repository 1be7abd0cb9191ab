#include "compiler/widen/partings.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>

#include "compiler/widen/intrinsics.h"

namespace tutti::compiler {
namespace {

using llvm::BasicBlock;
using llvm::CallInst;

bool IsBlockBarrier(Intrinsic kind) { return kind == Intrinsic::kBarrier || kind == Intrinsic::kBarrierReduce; }

bool IsOfMembers(const CallInst& call) { return IsMeetingOfMembers(ClassifyCall(call).kind) && !AreMembersHere(call); }

// Lanes at one could be at the other for each other.
bool MayMeet(const CallInst& a, const CallInst& b) {
  if (a.getCalledFunction() != b.getCalledFunction()) return false;
  const auto* mine = llvm::dyn_cast<llvm::ConstantInt>(a.getArgOperand(0));
  const auto* others = llvm::dyn_cast<llvm::ConstantInt>(b.getArgOperand(0));
  return mine == nullptr || others == nullptr || mine == others;
}

class PartingFinder {
 public:
  PartingFinder(llvm::Function& function, const Schedule& schedule) : schedule_(schedule) {
    for (const llvm::Function& other : *function.getParent()) {
      if (&other == &function || other.isDeclaration()) continue;
      others_wait_ |= llvm::any_of(llvm::instructions(other), [](const llvm::Instruction& instruction) {
        const auto* call = llvm::dyn_cast<CallInst>(&instruction);
        return call != nullptr && IsBlockBarrier(ClassifyCall(*call).kind);
      });
    }
  }

  Partings Find() {
    for (unsigned i = 0; i < schedule_.size(); ++i) {
      llvm::SmallVector<BasicBlock*, 8> elsewhere;
      for (unsigned other : schedule_.waiting(i).set_bits()) {
        BasicBlock* block = schedule_.block(other);
        if (!llvm::isa<llvm::ReturnInst>(block->getTerminator())) elsewhere.push_back(block);
      }
      if (!elsewhere.empty()) LookAt(*schedule_.block(i), elsewhere);
    }
    return std::move(partings_);
  }

 private:
  void LookAt(BasicBlock& block, llvm::ArrayRef<BasicBlock*> elsewhere) {
    std::vector<const CallInst*> reached;
    bool has_reached = false, parts = false;
    for (llvm::Instruction& instruction : block) {
      auto* call = llvm::dyn_cast<CallInst>(&instruction);
      if (call == nullptr) continue;
      const bool is_barrier = IsBlockBarrier(ClassifyCall(*call).kind);
      if (!is_barrier && !IsOfMembers(*call)) continue;
      if (!has_reached) reached = MeetingsFrom(elsewhere);
      has_reached = true;
      const bool here = llvm::any_of(reached, [&](const CallInst* other) {
        const Intrinsic kind = ClassifyCall(*other).kind;
        return is_barrier ? IsBlockBarrier(kind) || kind == Intrinsic::kNone : MayMeet(*call, *other);
      });
      if (!here) continue;
      parts = true;
      partings_.sites.insert(call);
      partings_.has_barriers |= is_barrier;
    }
    if (parts) partings_.gates.insert(elsewhere.begin(), elsewhere.end());
  }

  // What lanes can come to from there: meetings, and calls of functions that may have barriers.
  std::vector<const CallInst*> MeetingsFrom(llvm::ArrayRef<BasicBlock*> first) const {
    llvm::SmallSetVector<BasicBlock*, 32> blocks(first.begin(), first.end());
    std::vector<const CallInst*> found;
    for (size_t i = 0; i < blocks.size(); ++i) {
      for (const llvm::Instruction& instruction : *blocks[i]) {
        const auto* call = llvm::dyn_cast<CallInst>(&instruction);
        if (call == nullptr) continue;
        const llvm::Function* callee = call->getCalledFunction();
        const bool is_call = callee != nullptr && !callee->isDeclaration();
        if (IsOfMembers(*call) || IsBlockBarrier(ClassifyCall(*call).kind) || (is_call && others_wait_)) found.push_back(call);
      }
      for (BasicBlock* to : llvm::successors(blocks[i])) blocks.insert(to);
    }
    return found;
  }

  const Schedule& schedule_;
  bool others_wait_ = false;  // a barrier is in another function
  Partings partings_;
};

}  // namespace

Partings FindPartings(llvm::Function& function, const Schedule& schedule) { return PartingFinder(function, schedule).Find(); }

bool HasMeetings(const llvm::Function& function) {
  return llvm::any_of(llvm::instructions(function), [](const llvm::Instruction& instruction) {
    const auto* call = llvm::dyn_cast<CallInst>(&instruction);
    return call != nullptr && (IsBlockBarrier(ClassifyCall(*call).kind) || IsOfMembers(*call));
  });
}

}  // namespace tutti::compiler
