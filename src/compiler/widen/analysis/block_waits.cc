#include "compiler/widen/analysis/block_waits.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include "compiler/widen/analysis/intrinsics.h"

namespace tutti::compiler {
namespace {

// By itself, or by code that is not seen here.
bool MayWait(Intrinsic kind) {
  switch (kind) {
    case Intrinsic::kYield:
    case Intrinsic::kGridBarrier:
    case Intrinsic::kClusterBarrier:
    case Intrinsic::kDeviceRuntime:
    case Intrinsic::kIndirectCall:
    case Intrinsic::kUnknown: return true;
    default: return false;
  }
}

// The result follows from what this lane and others pass, and from which block this is.
bool FollowsFromArguments(Intrinsic kind) {
  switch (kind) {
    case Intrinsic::kBlockField:
    case Intrinsic::kTid:
    case Intrinsic::kLaneid:
    case Intrinsic::kWarpid:
    case Intrinsic::kNwarpid:
    case Intrinsic::kStack:
    case Intrinsic::kFunction:
    case Intrinsic::kShfl:
    case Intrinsic::kBallot:
    case Intrinsic::kMatchAny:
    case Intrinsic::kMatchAll:
    case Intrinsic::kRedux:
    case Intrinsic::kMatrix: return true;
    default: return false;
  }
}

// The value may differ the next time, whatever the operands: it is read from memory that a kernel may write.
bool IsReading(const llvm::Instruction& instruction) {
  constexpr unsigned kConstants = 4, kParameters = 101;
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
    const unsigned space = load->getPointerAddressSpace();
    return space != kConstants && space != kParameters;
  }
  if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
    const Intrinsic kind = ClassifyCall(*call).kind;
    return kind == Intrinsic::kNone ? !llvm::isa<llvm::IntrinsicInst>(call) || !call->doesNotAccessMemory()
                                    : !FollowsFromArguments(kind);
  }
  return instruction.mayReadFromMemory();
}

// What a loop's iterations may find changed by others, and all that depends on it.
class Readings {
 public:
  explicit Readings(const llvm::Loop& loop) : loop_(loop) {
    for (const llvm::BasicBlock* block : loop.blocks()) {
      for (const llvm::Instruction& instruction : *block) {
        if (IsReading(instruction)) Add(instruction);
      }
    }
    while (!work_.empty()) {
      for (const llvm::User* user : work_.pop_back_val()->users()) {
        const auto* instruction = llvm::cast<llvm::Instruction>(user);
        if (loop_.contains(instruction)) Add(*instruction);
      }
    }
  }

  // A branch within the loop, or out of it, depends on them.
  bool choose_ways() const { return choose_ways_; }
  bool Decide(const llvm::Instruction& instruction) const { return dependent_.contains(&instruction); }

 private:
  void Add(const llvm::Instruction& instruction) {
    if (!dependent_.insert(&instruction).second) return;
    work_.push_back(&instruction);
    if (!instruction.isTerminator() || choose_ways_) return;
    choose_ways_ = true;
    for (const llvm::BasicBlock* block : loop_.blocks()) {
      if (block == loop_.getHeader()) continue;  // its only way back is the latch
      for (const llvm::PHINode& phi : block->phis()) Add(phi);
    }
  }

  const llvm::Loop& loop_;
  llvm::DenseSet<const llvm::Instruction*> dependent_;
  llvm::SmallVector<const llvm::Instruction*, 32> work_;
  bool choose_ways_ = false;
};

bool MayWait(const llvm::Loop& loop, const llvm::DominatorTree& dominators) {
  const llvm::BasicBlock* latch = loop.getLoopLatch();
  if (latch == nullptr) return true;
  const Readings readings(loop);
  llvm::SmallVector<llvm::BasicBlock*, 4> exiting;
  loop.getExitingBlocks(exiting);
  return llvm::any_of(exiting, [&](const llvm::BasicBlock* block) {
    return readings.Decide(*block->getTerminator()) || (readings.choose_ways() && !dominators.dominates(block, latch));
  });
}

bool IsDefined(const llvm::Function* function) { return function != nullptr && !function->isDeclaration(); }

// Functions that are called by others than the kernel, perhaps by themselves.
bool HasDeepCalls(const llvm::Function& function) {
  return function.getName() != "tutti.kernel" &&
         llvm::any_of(llvm::instructions(function), [](const llvm::Instruction& instruction) {
           const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
           return call != nullptr && IsDefined(call->getCalledFunction());
         });
}

}  // namespace

bool MayWaitForBlocks(llvm::Module& module) {
  return llvm::any_of(module, [](llvm::Function& function) {
    if (function.isDeclaration()) return !function.use_empty() && MayWait(ClassifyFunction(&function).kind);
    if (HasDeepCalls(function)) return true;
    const llvm::DominatorTree dominators(function);
    const llvm::LoopInfo loops(dominators);
    return llvm::any_of(loops.getLoopsInPreorder(), [&](const llvm::Loop* loop) { return MayWait(*loop, dominators); });
  });
}

}  // namespace tutti::compiler
