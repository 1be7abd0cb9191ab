#include "compiler/widen/analysis/partings.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>

#include "compiler/widen/analysis/intrinsics.h"

namespace tutti::compiler {
namespace {

using llvm::BasicBlock;
using llvm::CallInst;

bool IsBlockBarrier(Intrinsic kind) { return kind == Intrinsic::kBarrier || kind == Intrinsic::kBarrierReduce; }

bool IsOfMembers(const CallInst& call) {
  return IsMeetingOfMembers(ClassifyCall(call).kind) && !AreMembersHere(call) && !IsAligned(call);
}

bool IsMeeting(const CallInst& call) { return IsBlockBarrier(ClassifyCall(call).kind) || IsOfMembers(call); }

bool IsMeetingCall(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<CallInst>(&instruction);
  return call != nullptr && IsMeeting(*call);
}

bool HasMeetings(const BasicBlock& block) { return llvm::any_of(block, IsMeetingCall); }

// One lane may be at `a` while another is at `b`, waiting for each other.
bool MayMeet(const CallInst& a, const CallInst& b) {
  if (a.getCalledFunction() != b.getCalledFunction()) return false;
  const auto* mine = llvm::dyn_cast<llvm::ConstantInt>(a.getArgOperand(0));
  const auto* others = llvm::dyn_cast<llvm::ConstantInt>(b.getArgOperand(0));
  return mine == nullptr || others == nullptr || mine == others;
}

class PartingFinder {
 public:
  explicit PartingFinder(llvm::Function& function) : function_(function) {
    for (const llvm::Function& other : *function.getParent()) {
      if (&other == &function || other.isDeclaration()) continue;
      others_wait_ |= llvm::any_of(llvm::instructions(other), [](const llvm::Instruction& instruction) {
        const auto* call = llvm::dyn_cast<CallInst>(&instruction);
        return call != nullptr && IsBlockBarrier(ClassifyCall(*call).kind);
      });
    }
  }

  Partings Find(const Schedule& schedule) {
    for (unsigned i = 0; i < schedule.size(); ++i) {
      if (!HasMeetings(*schedule.block(i))) continue;
      Blocks elsewhere;
      for (unsigned other : schedule.waiting(i).set_bits()) {
        BasicBlock* block = schedule.block(other);
        if (!llvm::isa<llvm::ReturnInst>(block->getTerminator())) elsewhere.insert(block);
      }
      if (!elsewhere.empty()) LookAt(*schedule.block(i), elsewhere);
    }
    return std::move(partings_);
  }

  Partings FindAll() {
    Blocks all;
    for (BasicBlock& block : function_) all.insert(&block);
    const auto meetings = MeetingsIn(all);
    for (CallInst* call : meetings) {
      if (MayMeetOneOf(*call, meetings, /*or_itself=*/false)) Add(*call);
    }
    return std::move(partings_);
  }

 private:
  using Blocks = llvm::SmallSetVector<BasicBlock*, 32>;

  void Add(CallInst& call) {
    partings_.sites.insert(&call);
    partings_.has_barriers |= IsBlockBarrier(ClassifyCall(call).kind);
  }

  void LookAt(BasicBlock& block, const Blocks& elsewhere) {
    const auto reached = MeetingsIn(From(elsewhere));
    bool parts = false;
    for (llvm::Instruction& instruction : block) {
      auto* call = llvm::dyn_cast<CallInst>(&instruction);
      if (call == nullptr || !MayMeetOneOf(*call, reached, /*or_itself=*/true)) continue;
      parts = true;
      Add(*call);
    }
    if (parts) partings_.gates.insert(elsewhere.begin(), elsewhere.end());
  }

  static bool MayMeetOneOf(const CallInst& call, llvm::ArrayRef<CallInst*> reached, bool or_itself) {
    if (!IsMeeting(call)) return false;
    const bool is_barrier = IsBlockBarrier(ClassifyCall(call).kind);
    return llvm::any_of(reached, [&](const CallInst* other) {
      if (other == &call && !or_itself) return false;
      const Intrinsic kind = ClassifyCall(*other).kind;
      return is_barrier ? IsBlockBarrier(kind) || kind == Intrinsic::kNone : MayMeet(call, *other);
    });
  }

  // The blocks reachable from these, themselves included.
  static Blocks From(Blocks blocks) {
    for (size_t i = 0; i < blocks.size(); ++i) {
      for (BasicBlock* to : llvm::successors(blocks[i])) blocks.insert(to);
    }
    return blocks;
  }

  // Warp operations and barriers, and calls of functions that may have barriers.
  std::vector<CallInst*> MeetingsIn(const Blocks& blocks) const {
    std::vector<CallInst*> found;
    for (BasicBlock* block : blocks) {
      for (llvm::Instruction& instruction : *block) {
        auto* call = llvm::dyn_cast<CallInst>(&instruction);
        if (call == nullptr) continue;
        const llvm::Function* callee = call->getCalledFunction();
        const bool is_call = callee != nullptr && !callee->isDeclaration();
        if (IsMeeting(*call) || (is_call && others_wait_)) found.push_back(call);
      }
    }
    return found;
  }

  llvm::Function& function_;
  bool others_wait_ = false;  // a barrier is in another function
  Partings partings_;
};

}  // namespace

Partings FindPartings(llvm::Function& function, const Schedule& schedule) {
  return PartingFinder(function).Find(schedule);
}

Partings FindPartingsOfTurns(llvm::Function& function) { return PartingFinder(function).FindAll(); }

size_t CountMeetings(const llvm::Function& function) {
  return static_cast<size_t>(llvm::count_if(llvm::instructions(function), IsMeetingCall));
}

}  // namespace tutti::compiler
