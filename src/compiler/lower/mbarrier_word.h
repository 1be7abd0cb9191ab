// The 64 bits of an mbarrier object, which PTX leaves to the implementation.
//
//   bits  0..19  arrivals still missing in this phase
//   bits 20..39  arrivals that a phase takes
//   bits 40..62  bytes of asynchronous copies still missing (tx-count)
//   bit  63      parity of the phase
//
// A phase is complete when nothing is missing; then the parity flips and the arrivals start again.
#pragma once

#include "compiler/lower/emitter.h"

namespace tutti::compiler::lowering {

// Atomically changes the counts of the mbarrier at `pointer`, and completes the phase if nothing is missing any more.
// Returns the old word. i64 each; null: zero.
struct MbarrierChange {
  llvm::Value* arrivals = nullptr;  // to subtract
  llvm::Value* drops = nullptr;     // to subtract from what later phases take
  llvm::Value* expect = nullptr;    // bytes to add
  llvm::Value* complete = nullptr;  // bytes to subtract
};
llvm::Value* ChangeMbarrier(Emitter& e, llvm::Value* pointer, const MbarrierChange& change);

// What st.async and red.async do behind the access itself, which is synchronous: `bytes` less are missing in the
// mbarrier that operand `n` addresses. In global memory they have none.
void CompleteBytes(Emitter& e, size_t n, uint64_t bytes);

}  // namespace tutti::compiler::lowering
