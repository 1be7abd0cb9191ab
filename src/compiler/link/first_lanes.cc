#include "compiler/link/first_lanes.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <bit>
#include <optional>

namespace tutti::compiler {
namespace {

using llvm::Value;

// How many lanes take part, if these are the first ones, fewer than all, and a power of two.
std::optional<unsigned> FirstOf(const llvm::APInt& lanes) {
  const unsigned count = lanes.countr_one();
  if (count == 0 || count == lanes.getBitWidth() || !lanes.isMask(count) || !std::has_single_bit(count))
    return std::nullopt;
  return count;
}

std::optional<unsigned> FirstOf(const Value& mask) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(&mask);
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(mask.getType());
  if (constant == nullptr || type == nullptr) return std::nullopt;
  llvm::APInt lanes(type->getNumElements(), 0);
  for (unsigned i = 0; i < type->getNumElements(); ++i) {
    const auto* lane = llvm::dyn_cast_or_null<llvm::ConstantInt>(constant->getAggregateElement(i));
    if (lane == nullptr) return std::nullopt;
    if (lane->isOne()) lanes.setBit(i);
  }
  return FirstOf(lanes);
}

llvm::Type* TypeOf(const Value& vector, unsigned count) {
  llvm::Type* element = vector.getType()->getScalarType();
  return count == 1 ? element : llvm::FixedVectorType::get(element, count);
}

void StoreFirst(llvm::IRBuilder<>& builder, Value* values, unsigned count, Value* address, llvm::Align align) {
  llvm::SmallVector<int, 16> lanes(count);
  for (unsigned i = 0; i < count; ++i) lanes[i] = static_cast<int>(i);
  Value* first =
      count == 1 ? builder.CreateExtractElement(values, uint64_t{0}) : builder.CreateShuffleVector(values, lanes);
  builder.CreateAlignedStore(first, address, align);
}

Value* LoadFirst(llvm::IRBuilder<>& builder, const llvm::IntrinsicInst& load, unsigned count) {
  const llvm::Align align = llvm::cast<llvm::ConstantInt>(load.getArgOperand(1))->getAlignValue();
  Value* others = load.getArgOperand(3);
  Value* first = builder.CreateAlignedLoad(TypeOf(load, count), load.getArgOperand(0), align);
  if (count == 1) return builder.CreateInsertElement(others, first, uint64_t{0});
  const unsigned all = llvm::cast<llvm::FixedVectorType>(load.getType())->getNumElements();
  llvm::SmallVector<int, 32> widened(all, -1), lanes(all);
  for (unsigned i = 0; i < all; ++i) {
    if (i < count) widened[i] = static_cast<int>(i);
    lanes[i] = static_cast<int>(i < count ? i : all + i);
  }
  first = builder.CreateShuffleVector(first, widened);
  return llvm::isa<llvm::UndefValue>(others) ? first : builder.CreateShuffleVector(first, others, lanes);
}

bool Rewrite(llvm::CallInst& call) {
  llvm::IRBuilder<> builder(&call);
  if (auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&call)) {
    if (intrinsic->getIntrinsicID() == llvm::Intrinsic::masked_load) {
      const auto count = FirstOf(*intrinsic->getArgOperand(2));
      if (!count) return false;
      Value* loaded = LoadFirst(builder, *intrinsic, *count);
      call.replaceAllUsesWith(loaded);
    } else if (intrinsic->getIntrinsicID() == llvm::Intrinsic::masked_store) {
      const auto count = FirstOf(*intrinsic->getArgOperand(3));
      if (!count) return false;
      StoreFirst(builder, intrinsic->getArgOperand(0), *count, intrinsic->getArgOperand(1),
                 llvm::cast<llvm::ConstantInt>(intrinsic->getArgOperand(2))->getAlignValue());
    } else {
      return false;
    }
    call.eraseFromParent();
    return true;
  }
  // Before AVX-512, of a part of a warp (runtime/rare_access.cc).
  const llvm::Function* called = call.getCalledFunction();
  if (called == nullptr || !called->getName().starts_with("tutti_rare_store_part_") || call.arg_size() != 3)
    return false;
  const auto* lanes = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(1));
  if (lanes == nullptr) return false;
  const auto count = FirstOf(lanes->getValue());
  if (!count) return false;
  Value* address = builder.CreateIntToPtr(call.getArgOperand(0), builder.getPtrTy());
  StoreFirst(builder, call.getArgOperand(2), *count, address, llvm::Align(1));
  call.eraseFromParent();
  return true;
}

}  // namespace

llvm::PreservedAnalyses FirstLanesPass::run(llvm::Function& function, llvm::FunctionAnalysisManager& /*analyses*/) {
  bool changed = false;
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) changed |= Rewrite(*call);
  }
  if (!changed) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  return kept;
}

}  // namespace tutti::compiler
