// Keeps LLVM from comparing every branch on a condition with every other one.
//
// All accesses of a span branch on the one answer of its check (widen/analysis/span.h), so a long kernel has thousands
// of branches on one value. At each of them EarlyCSE and GVN ask of every other use whether the branch decides it: with
// 2,000 accesses that was most of the time of optimization. So for these passes a condition of many branches is several
// values, of as many branches each as are worth comparing.
#pragma once

#include <llvm/IR/PassManager.h>

namespace tutti::compiler {

class SplitConditionsPass : public llvm::PassInfoMixin<SplitConditionsPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

// Each condition is one value again.
class JoinConditionsPass : public llvm::PassInfoMixin<JoinConditionsPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace tutti::compiler
