#include "compiler/passes/narrow_addresses.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/PatternMatch.h>

namespace tutti::compiler {
namespace {

constexpr unsigned kMostSteps = 4;  // of arithmetic from an index to its address
constexpr unsigned kMostUsers = 32;  // that are looked at

bool IsInAddress(const llvm::Instruction& value, unsigned steps, unsigned& users) {
  return llvm::any_of(value.users(), [&](const llvm::User* user) {
    if (users == 0) return false;
    --users;
    if (llvm::isa<llvm::IntToPtrInst>(user)) return true;
    const auto* next = llvm::dyn_cast<llvm::BinaryOperator>(user);
    if (next == nullptr || steps == 0) return false;
    switch (next->getOpcode()) {
      case llvm::Instruction::Add:
      case llvm::Instruction::Sub:
      case llvm::Instruction::Mul:
      case llvm::Instruction::Shl: return IsInAddress(*next, steps - 1, users);
      default: return false;
    }
  });
}

// What was multiplied by 2^shift, modulo 2^(64 - shift); null if not all terms were.
llvm::Value* Unscaled(llvm::IRBuilder<>& ir, llvm::Value* scaled, unsigned shift, unsigned steps) {
  using namespace llvm::PatternMatch;
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(scaled))
    return constant->getValue().countr_zero() < shift ? nullptr : ir.getInt(constant->getValue().lshr(shift));
  if (llvm::Value* index = nullptr; match(scaled, m_Shl(m_Value(index), m_SpecificInt(shift)))) return index;
  llvm::Value *first = nullptr, *second = nullptr;
  if (steps == 0 || !match(scaled, m_Add(m_Value(first), m_Value(second)))) return nullptr;
  first = Unscaled(ir, first, shift, steps - 1);
  second = first == nullptr ? nullptr : Unscaled(ir, second, shift, steps - 1);
  return second == nullptr ? nullptr : ir.CreateAdd(first, second);
}

}  // namespace

llvm::PreservedAnalyses NarrowAddressesPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  bool changed = false;
  const llvm::DataLayout& layout = function.getParent()->getDataLayout();
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    using namespace llvm::PatternMatch;
    llvm::Value* wide = nullptr;
    const llvm::APInt* mask = nullptr;
    if (!match(&instruction, m_And(m_Value(wide), m_APInt(mask))) || mask->getBitWidth() != 64) continue;
    unsigned users = kMostUsers;
    if (mask->getActiveBits() < 32 || !IsInAddress(instruction, kMostSteps, users)) continue;
    // An index times its element's size: what is cut is the index.
    const unsigned shift = mask->getActiveBits() - 32;
    llvm::IRBuilder<> ir(&instruction);
    if (shift != 0) wide = Unscaled(ir, wide, shift, kMostSteps);
    if (wide == nullptr) continue;
    // Bits that are zero anyway may be missing from the mask.
    const llvm::APInt bits = mask->lshr(shift), low = llvm::APInt::getLowBitsSet(64, bits.countr_zero());
    if ((bits | low) != 0xffffffff || !llvm::MaskedValueIsZero(wide, low, layout)) continue;
    llvm::Value* index = ir.CreateZExt(ir.CreateTrunc(wide, ir.getInt32Ty()), ir.getInt64Ty());
    instruction.replaceAllUsesWith(shift == 0 ? index : ir.CreateShl(index, shift));
    instruction.eraseFromParent();
    changed = true;
  }
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace tutti::compiler
