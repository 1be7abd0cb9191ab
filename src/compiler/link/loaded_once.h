// What decides where memory is accessed is loaded once.
//
// The host, other kernels and other blocks of a cluster may change a kernel's memory at any time. So what an address
// check has asked about must be the very value that is used then, and not what memory holds a moment later. For LLVM a
// load whose memory another thread writes has no value in particular, and its code generator takes that freedom: an
// element of a vector that was loaded is loaded again by itself where that saves a move between registers, a vector is
// loaded again in halves that extend what they load, or as a broadcast of one element.
//
//   before                                        after
//    ends = load <4 x i32>, rows                   the same, where the load is volatile: LLVM keeps count of those
//    ok = splat(ends[1]) - first < elements           vpbroadcastd 4(rows)    what is asked for
//    do ...; while (++i != ends[1])                   mov 4(rows)             what is used: loaded a second time
//
// So loads of guest memory whose values come to an address, a mask, a branch or a call are made volatile, after all
// passes that make good code of loads that are not. A masked load cannot be: what it has loaded is used once, by an
// empty piece of assembly, whose result is used instead. Data is not: what arithmetic in floating point computes it
// computes once, and stored values are asked about nowhere.
#pragma once

namespace llvm {
class Module;
}

namespace tutti::compiler {

void LoadOnce(llvm::Module& module);

}  // namespace tutti::compiler
