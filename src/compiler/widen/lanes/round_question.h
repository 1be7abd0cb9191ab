// Whether all that a counted loop's accesses reach, in all rounds together, may be accessed.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/STLFunctionalExtras.h>

#include "compiler/widen/lanes/lane_rounds.h"
#include "compiler/widen/memory/address_check.h"

namespace tutti::compiler {

// An access of the loop, by an address of which StepLog2 knows the step.
struct RoundAccess {
  const llvm::Instruction* instruction;
  const Span* span;
  Region region;
};

// The answer for one lane, i1, or for all lanes, <32 x i1>: as wide as what `made` returns for the values in front of
// the loop, integers. Null if it returns null for one that is needed.
llvm::Value* AllRoundsHold(FunctionEmitter& emitter, const CountedLoop& loop, llvm::ArrayRef<RoundAccess> accesses,
                           llvm::function_ref<llvm::Value*(const llvm::Value&)> made);

// i1, at the call of a lane function: whether the answer is yes for all active lanes, if the loop has a round. Null if
// that is not known before the lanes' own code.
llvm::Value* AllRoundsHoldForWarp(FunctionEmitter& emitter, const llvm::CallInst& call, const CountedLoop& loop,
                                  llvm::ArrayRef<RoundAccess> accesses);

}  // namespace tutti::compiler
