// Barriers without stacks: a kernel whose warps only ever wait for the whole block becomes a state machine per warp.
//
// A kernel that waits normally needs a stack per warp, and each barrier costs a call to the device and a switch. But
// where every warp of the block goes through the same barriers as a whole, one thread can run each warp up to its next
// barrier, all warps in turn, and start over: whoever comes round again has been passed by nobody. So the warp's
// function is cut at its barriers. It becomes
//
//   state step(warp, frame, state)
//
// which enters at `state`, runs to the next barrier, keeps what is still needed in `frame` and returns where to go on;
// and run(warps, count) goes round the warps until all have ended, upwards or downwards as the barrier asks
// (BarrierMode in guest/cpu/kernel_abi.h). To the device such a kernel is one that never waits.
//
// Not for kernels that use named barriers with fewer threads, barrier reductions, cluster or grid barriers or yields,
// wait in called functions, or wait with a part of a warp: these are left as they are.
#pragma once

namespace llvm {
class Module;
}  // namespace llvm

namespace tutti::compiler {

// True if the kernel was changed. Run it after optimising and clean up after it (EarlyCSE, SimplifyCFG).
bool RunInLockstep(llvm::Module& module);

}  // namespace tutti::compiler
