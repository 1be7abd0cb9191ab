// Keeps cold paths from costing anything where they are not taken.
//
// Behind every address check is a cold path with a call and vectors of its own. The code generator makes the hot path
// pay for it in three ways:
// * Constants of all blocks of a loop are materialised before the loop, except for blocks that run far less often,
//   which LLVM knows only in functions with an entry count: each gets one.
// * A call by the usual convention clobbers most registers, so values live across the cold call are spilled where they
//   are defined, on the hot path, and the register allocator looks for better places, which takes long. The functions
//   called here save whatever they use themselves: all of the processor's registers, since they call others. That is
//   some 40 ns, of a function that does the accesses of 32 lanes one by one.
// * A gather by 32-bit indices, which is half the work, is selected only if the extension of the index is in the same
//   block and not shared with the cold path: it gets an extension of its own.
#pragma once

namespace llvm {
class Module;
}

namespace tutti::compiler {

// The last pass before code generation.
void KeepRarePathsApart(llvm::Module& module);

}  // namespace tutti::compiler
