// From the code of one thread to a kernel that runs its threads one after the other: quick code. LLVM takes a tenth
// of the time for it, or less, that it takes for warps of 32 lanes, and it is 4 to 300 times slower.
//
// Takes what widen/ takes (compiler/ir_contract.md), and makes what widen/ makes: `tutti_kernel`, with the same
// results.
//
// How: the kernel becomes a function of one thread that runs to the next *stop* (compiler/runtime/thread_state.h) and
// returns; called again, it goes on behind it (cuts.h). Which threads go on, and what operations between them give, is
// in compiler/runtime/thread_warp.cc, which is machine code beforehand.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"

namespace llvm {
class Module;
}

namespace tutti::compiler {

struct ThreadOptions {
  std::string name;  // of the kernel, for its descriptor
  uint32_t block[3] = {0, 0, 0};  // threads per block; 0,0,0: any shape
  bool has_fma = false;  // the processor
  // Kernels of fewer instructions are not worth it: optimised, they are there as soon. Operations between lanes and
  // loops that wait count as many.
  uint32_t least_instructions = 0;
  // also with loops that may go round for long behind what others can see; for tests
  bool any_loop = false;
  // also blocks that are sure to end soon can begin anew (renewal.h); for tests
  bool renews_all = false;
};

// Fails as MakeThreads does, with what is seen without changing anything.
Status CheckForThreads(const llvm::Module& module, const ThreadOptions& options);

// In place; the module was checked before. Fails with CUDA_ERROR_NOT_SUPPORTED, and the reason, for kernels that are
// not to be compiled like this: matrix operations, clusters, grid barriers, calls that cannot be inlined, loops without
// bounds behind what others can see. The module is unusable then.
Status MakeThreads(llvm::Module& module, const ThreadOptions& options);

}  // namespace tutti::compiler
