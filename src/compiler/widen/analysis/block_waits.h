// Whether a block of a kernel may wait for another one. If none can, its blocks may begin in any order.
#pragma once

namespace llvm {
class Module;
}

namespace tutti::compiler {

// False only if it is certain: nothing in the module waits for other blocks by itself (a yield, as spin loops have, a
// barrier of the grid or of a cluster, a child grid), and no loop goes on until something that it reads has changed.
// Whether a loop ends is asked of nothing that it reads, directly or by a branch: where to begin and where to end may
// have been read before it. So a search that ends where it has found something counts as one that may wait.
//
// For modules prepared for widening: loops are in canonical form, and spin loops yield.
bool MayWaitForBlocks(llvm::Module& module);

}  // namespace tutti::compiler
