// Which kernels can be run a thread at a time (threads.h).
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>

#include <cstdint>
#include <string>

namespace llvm {
class BasicBlock;
class DominatorTree;
class Function;
class LoopInfo;
class Module;
class PostDominatorTree;
class ScalarEvolution;
}  // namespace llvm

namespace tutti::compiler {

// Why it cannot be run so, or is not worth it, as far as that is seen before anything is inlined; empty: nothing speaks
// against it.
std::string ObstacleIn(const llvm::Module& module, uint32_t least_instructions);
// The same of the kernel, into which all that it calls has been inlined.
std::string ObstacleInKernel(const llvm::Function& kernel);

// The same of its loops, where they are among `blocks`. What has begun there ends in quick code, so it must be sure to
// end soon: each loop has few rounds whatever the data are, or waits for other threads (widen/divergence/spin_loops.h),
// or retries an atomic update.
struct LoopAnalyses {
  const llvm::LoopInfo& loops;
  const llvm::DominatorTree& dominators;
  const llvm::PostDominatorTree& post_dominators;
  llvm::ScalarEvolution& evolution;
};
std::string ObstacleInLoops(const llvm::Function& kernel, const LoopAnalyses& analyses,
                            llvm::function_ref<bool(const llvm::BasicBlock*)> are_among);
// Has a loop that is entered at several places: none of `loops`, so nothing is known of it, and nothing in it yields.
bool HasLoopOfSeveralEntries(const llvm::Function& kernel, const llvm::LoopInfo& loops);

}  // namespace tutti::compiler
