#include "compiler/threads/program_order.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>

#include <algorithm>

namespace tutti::compiler {
namespace {

using llvm::BasicBlock;
using Blocks = llvm::SmallVector<BasicBlock*, 4>;

// What comes behind a block: its successors, but no loop's header again from inside it; and behind a latch all that its
// loop, or one that ends there as well, is left for.
llvm::DenseMap<const BasicBlock*, Blocks> EdgesOf(llvm::Function& function, const llvm::LoopInfo& loops) {
  llvm::DenseMap<const BasicBlock*, Blocks> edges;
  for (BasicBlock& block : function) {
    for (BasicBlock* next : llvm::successors(&block)) {
      const llvm::Loop* loop = loops.getLoopFor(next);
      const bool is_back = loop != nullptr && loop->getHeader() == next && loop->contains(&block);
      if (!is_back) edges[&block].push_back(next);
    }
  }
  for (const llvm::Loop* loop : loops.getLoopsInPreorder()) {
    llvm::SmallVector<BasicBlock*, 4> latches, exits;
    loop->getLoopLatches(latches);
    loop->getUniqueExitBlocks(exits);
    for (BasicBlock* latch : latches) edges[latch].append(exits.begin(), exits.end());
  }
  return edges;
}

}  // namespace

// Reverse post-order of these edges, which have no cycles.
llvm::SmallVector<BasicBlock*, 64> InOrder(llvm::Function& function) {
  const llvm::DominatorTree dominators(function);
  const llvm::LoopInfo loops(dominators);
  llvm::DenseMap<const BasicBlock*, Blocks> edges = EdgesOf(function, loops);
  llvm::SmallVector<BasicBlock*, 64> order;
  llvm::DenseSet<const BasicBlock*> seen;
  struct Visit {
    BasicBlock* block;
    size_t next;
  };
  llvm::SmallVector<Visit, 32> path{{&function.getEntryBlock(), 0}};
  seen.insert(path.back().block);
  while (!path.empty()) {
    Visit& visit = path.back();
    const Blocks& behind = edges[visit.block];
    if (visit.next == behind.size()) {
      order.push_back(visit.block);
      path.pop_back();
    } else if (BasicBlock* next = behind[visit.next++]; seen.insert(next).second) {
      path.push_back({next, 0});
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace tutti::compiler
