#include "compiler/link/wide_joins.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace tutti::compiler {
namespace {

using llvm::BasicBlock;

// Below these there is nothing to gain.
constexpr size_t kManyWays = 48, kManyPhis = 8;

// The blocks before `join`, in the order of the code.
std::vector<BasicBlock*> Ways(BasicBlock& join, const llvm::DenseMap<const BasicBlock*, size_t>& place) {
  llvm::SmallPtrSet<BasicBlock*, 16> seen;
  std::vector<BasicBlock*> ways;
  for (BasicBlock* way : llvm::predecessors(&join)) {
    if (seen.insert(way).second) ways.push_back(way);
  }
  std::ranges::sort(ways, {}, [&](const BasicBlock* way) { return place.lookup(way); });
  return ways;
}

void Split(BasicBlock& join, llvm::ArrayRef<BasicBlock*> ways) {
  const auto group = static_cast<size_t>(std::sqrt(static_cast<double>(ways.size())));
  while (!ways.empty()) {
    const auto neighbours = ways.take_front(group);
    ways = ways.drop_front(neighbours.size());
    BasicBlock* meet = llvm::SplitBlockPredecessors(&join, neighbours, ".ways");
    // The code generator's first pass removes blocks of phis alone.
    llvm::IRBuilder<>(meet->getTerminator()).CreateIntrinsic(llvm::Intrinsic::donothing, {}, {});
  }
}

}  // namespace

llvm::PreservedAnalyses SplitWideJoinsPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  std::vector<BasicBlock*> joins;
  llvm::DenseMap<const BasicBlock*, size_t> place;
  for (BasicBlock& block : function) {
    place[&block] = place.size();
    if (block.hasNPredecessorsOrMore(kManyWays) && std::cmp_greater_equal(llvm::range_size(block.phis()), kManyPhis))
      joins.push_back(&block);
  }
  for (BasicBlock* join : joins) Split(*join, Ways(*join, place));
  return joins.empty() ? llvm::PreservedAnalyses::all() : llvm::PreservedAnalyses::none();
}

}  // namespace tutti::compiler
