// Barriers without stacks: a kernel whose warps only ever wait for the whole block becomes a state machine per warp.
//
// Normally a kernel that waits needs a stack per warp, and each barrier costs a call to the device and a stack switch.
// But where every warp of the block passes the same barriers as a whole, one thread can run each warp up to its next
// barrier, one after the other, and start over: when a warp's turn comes again, all others have arrived. So the warp's
// function is cut at its barriers (frame_cut.h), as "loop fission at barriers" does in other CPU implementations of
// CUDA and OpenCL. It becomes
//
//   state step(warp, frame, state)
//
// which enters at `state`, runs to the next barrier, saves what is live in `frame` and returns where to resume; and
// run(warps, count) iterates over the warps until all have ended, upwards or downwards as the barrier asks (BarrierMode
// in guest/cpu/kernel_abi.h). To the device such a kernel never waits. Where all warps wait at the same barriers
// (block_values.h), the steps become loops over the warps in run itself (rounds.h).
//
// Kernels are left as they are that use named barriers with fewer threads, barrier reductions, cluster or grid barriers
// or yields, that wait in called functions, or that wait with a part of a warp.
#pragma once

namespace llvm {
class Module;
}  // namespace llvm

namespace tutti::compiler {

// Before anything is inlined: leaves the code of a warp by itself that RunInLockstep may cut though it never waits
// (column_walks.h).
void KeepWarpsThatTakeTurns(llvm::Module& module);

// True if the kernel was changed. Run it after optimising and clean up after it (EarlyCSE, SimplifyCFG).
bool RunInLockstep(llvm::Module& module);

}  // namespace tutti::compiler
