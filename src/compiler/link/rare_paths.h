// Keeps the paths that are rarely taken from costing anything where they are not.
//
// Behind every check of an address is a path that looks closer, with a call and vectors of its own. Three things of
// the code generator make the common path pay for it. Constants of all blocks of a loop are loaded before the loop: but
// not those of blocks that run far less often, if a function has an entry count, so each gets one. And a call by the
// usual convention loses all vector registers, so that what lives across the rare call is spilled, which happens where
// it is made: by the convention below half of them survive (with AVX-512 zmm16 to zmm31 and k4 to k7, with AVX2 ymm8 to
// ymm15).
// And a gather by 32-bit indices, half the work, is seen only where the extension of the index stands beside it and is
// not shared with the rare path, so it gets one of its own.
#pragma once

namespace llvm {
class Module;
}

namespace tutti::compiler {

// Last of what changes a module before code is generated.
void KeepRarePathsApart(llvm::Module& module);

}  // namespace tutti::compiler
