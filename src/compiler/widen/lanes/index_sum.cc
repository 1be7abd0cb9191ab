#include "compiler/widen/lanes/index_sum.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>

#include <array>
#include <utility>

namespace tutti::compiler {
namespace {

using llvm::SCEV;

constexpr int64_t kMostFactor = 1 << 20;

struct Scaled {
  int64_t scale;
  const SCEV* index;
};

// False if it is no sum of scale * zext index.
bool AddIndices(const SCEV& term, int64_t scale, llvm::SmallVectorImpl<Scaled>& to) {
  if (const auto* sum = llvm::dyn_cast<llvm::SCEVAddExpr>(&term)) {
    return sum->getNumOperands() <= 3 &&
           llvm::all_of(sum->operands(), [&](const SCEV* part) { return AddIndices(*part, scale, to); });
  }
  if (const auto* product = llvm::dyn_cast<llvm::SCEVMulExpr>(&term)) {
    const auto* by = llvm::dyn_cast<llvm::SCEVConstant>(product->getOperand(0));
    if (by == nullptr || product->getNumOperands() != 2 || scale != 1 || by->getAPInt().abs().ugt(kMostFactor))
      return false;
    return AddIndices(*product->getOperand(1), by->getAPInt().getSExtValue(), to);
  }
  const auto* index = llvm::dyn_cast<llvm::SCEVZeroExtendExpr>(&term);
  if (index == nullptr || !index->getOperand(0)->getType()->isIntegerTy(32)) return false;
  to.push_back({scale, index->getOperand(0)});
  return true;
}

}  // namespace

std::optional<IndexSum> IndexSumOf(const SCEV& apart) {
  llvm::SmallVector<Scaled, 4> terms;
  if (!apart.getType()->isIntegerTy(64) || !AddIndices(apart, 1, terms) || terms.size() != 3) return std::nullopt;
  llvm::sort(terms, [](const Scaled& a, const Scaled& b) { return a.scale < b.scale; });
  // The sum's sign is not that of the two others, which are side by side.
  if (terms[1].scale == terms[0].scale) std::swap(terms[0], terms[2]);
  const auto& [sum, one, other] = std::array{terms[0], terms[1], terms[2]};
  if (one.scale != other.scale || sum.scale != -one.scale) return std::nullopt;
  return IndexSum{sum.index, one.index, other.index};
}

llvm::Value* Adds(llvm::IRBuilder<>& builder, llvm::Value* sum, llvm::Value* one, llvm::Value* other) {
  llvm::Value* added = builder.CreateAdd(one, other);
  return builder.CreateAnd(builder.CreateICmpUGE(added, one), builder.CreateICmpEQ(sum, added));
}

}  // namespace tutti::compiler
