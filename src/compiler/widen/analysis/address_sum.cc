#include "compiler/widen/analysis/address_sum.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Operator.h>

namespace tutti::compiler {
namespace {

constexpr unsigned kMostDepth = 6;

void Add(const llvm::Value* value, AddressSum& sum, unsigned depth = 0) {
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value)) {
    sum.constant += constant->getZExtValue();
    return;
  }
  const auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(value);
  const bool adds = operation != nullptr && depth < kMostDepth &&
                    (operation->getOpcode() == llvm::Instruction::Add ||
                     (operation->getOpcode() == llvm::Instruction::Or &&
                      llvm::cast<llvm::PossiblyDisjointInst>(operation)->isDisjoint()));
  if (!adds) {
    sum.terms.push_back(value);
    return;
  }
  for (const llvm::Value* operand : operation->operands()) Add(operand, sum, depth + 1);
}

}  // namespace

AddressSum AddressSumOf(const llvm::Value* pointer) {
  AddressSum sum;
  const auto* cast = llvm::dyn_cast<llvm::IntToPtrInst>(pointer);
  if (cast == nullptr || !cast->getOperand(0)->getType()->isIntegerTy(64)) {
    sum.terms.push_back(pointer);
  } else {
    Add(cast->getOperand(0), sum);
    llvm::sort(sum.terms);
  }
  return sum;
}

}  // namespace tutti::compiler
