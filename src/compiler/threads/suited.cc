#include "compiler/threads/suited.h"

#include <fmt/format.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include "compiler/threads/bounded_rounds.h"
#include "compiler/widen/analysis/intrinsics.h"
#include "compiler/widen/divergence/spin_loops.h"

namespace tutti::compiler {
namespace {

// LLVM's quick generator is not for more, and takes as long as the better one.
constexpr uint32_t kMostInstructions = 60'000;

bool IsDone(Intrinsic kind) {
  switch (kind) {
    case Intrinsic::kNone:
    case Intrinsic::kBlockField:
    case Intrinsic::kTid:
    case Intrinsic::kLaneid:
    case Intrinsic::kWarpid:
    case Intrinsic::kNwarpid:
    case Intrinsic::kStack:
    case Intrinsic::kClock:
    case Intrinsic::kGlobaltimer:
    case Intrinsic::kActivemask:
    case Intrinsic::kShfl:
    case Intrinsic::kBallot:
    case Intrinsic::kMatchAny:
    case Intrinsic::kMatchAll:
    case Intrinsic::kRedux:
    case Intrinsic::kElect:
    case Intrinsic::kWarpBarrier:
    case Intrinsic::kBarrier:
    case Intrinsic::kBarrierReduce:
    case Intrinsic::kYield:
    case Intrinsic::kFence:
    case Intrinsic::kExit:
    case Intrinsic::kTrap:
    case Intrinsic::kPrint:
    case Intrinsic::kAssertFail:
    case Intrinsic::kMalloc:
    case Intrinsic::kFree:
    case Intrinsic::kSetCondition:
    case Intrinsic::kDeviceRuntime: return true;
    default: return false;
  }
}

uint32_t CountInstructions(const llvm::Module& module) {
  uint32_t count = 0;
  for (const llvm::Function& function : module) count += function.getInstructionCount();
  return count;
}

}  // namespace

std::string ObstacleIn(const llvm::Module& module, uint32_t least_instructions) {
  const uint32_t count = CountInstructions(module);
  if (count < least_instructions) return fmt::format("it has {} instructions only", count);
  if (count > kMostInstructions) return fmt::format("it has {} instructions", count);
  for (const llvm::Function& function : module) {
    if (!IsDone(ClassifyFunction(&function).kind) && !function.use_empty())
      return fmt::format("it calls {}", function.getName().str());
  }
  return {};
}

std::string ObstacleInKernel(const llvm::Function& kernel) {
  if (kernel.getInstructionCount() > kMostInstructions)
    return fmt::format("it has {} instructions", kernel.getInstructionCount());
  for (const llvm::Instruction& instruction : llvm::instructions(kernel)) {
    if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
      const llvm::Function* called = call->getCalledFunction();
      if (called == nullptr || !called->isDeclaration()) return "it calls functions that cannot be inlined";
    }
    if (llvm::isa<llvm::IndirectBrInst, llvm::CallBrInst, llvm::InvokeInst>(instruction))
      return "it has an indirect branch";
    const auto* alloca = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (alloca != nullptr && !alloca->isStaticAlloca()) return "it has a dynamic alloca";
  }
  return {};
}

std::string ObstacleInLoops(const llvm::LoopInfo& loops, llvm::ScalarEvolution& evolution) {
  constexpr uint64_t kMostRounds = 256;  // of all loops around a place together
  // Or around such a loop, as where blocks look back for sums of the blocks before.
  const auto waits = [&](const llvm::Loop& loop) {
    return llvm::any_of(loop.getLoopsInPreorder(), [&](const llvm::Loop* inner) { return IsSpinLoop(loops, *inner); });
  };
  const auto rounds_of = [&](const llvm::Loop& loop) -> uint64_t {
    return waits(loop) ? 1 : MostRounds(loop, evolution);
  };
  for (const llvm::Loop* innermost : loops.getLoopsInPreorder()) {
    uint64_t rounds = 1;
    for (const llvm::Loop* loop = innermost; loop != nullptr; loop = loop->getParentLoop()) {
      const uint64_t own = rounds_of(*loop);
      if (own == 0) return fmt::format("nothing bounds the rounds of a loop at {}", loop->getHeader()->getName().str());
      rounds *= own;
      if (rounds > kMostRounds)
        return fmt::format("a loop at {} has {} rounds", loop->getHeader()->getName().str(), rounds);
    }
  }
  return {};
}

}  // namespace tutti::compiler
