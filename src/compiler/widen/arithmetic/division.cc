// A quotient of 32-bit integers computed in double precision and truncated is exact. Let 2^(k-1) <= a/b < 2^k. Then
// b < 2^(33-k), so that a quotient which is not whole is more than 2^(k-33) below the next integer, while rounding
// moves it by at most 2^(k-54). Eight lanes at a time in hardware, against one lane per ten cycles or more.
#include "compiler/widen/arithmetic/division.h"

#include <llvm/IR/Constants.h>

#include "compiler/widen/emit/function_emitter.h"

namespace tutti::compiler {

llvm::Value* EmitDivision(FunctionEmitter& emitter, const llvm::BinaryOperator& operation, llvm::Value* dividend,
                          llvm::Value* divisor) {
  llvm::IRBuilder<>& builder = emitter.builder();
  if (!llvm::isa<llvm::Constant>(divisor) && !emitter.is_full()) {
    divisor = builder.CreateSelect(emitter.mask(), divisor, llvm::ConstantInt::get(divisor->getType(), 1));
  }
  const unsigned bits = divisor->getType()->getScalarSizeInBits();
  if (llvm::isa<llvm::Constant>(divisor) || bits > 32 || bits < 8)
    return builder.CreateBinOp(operation.getOpcode(), dividend, divisor);

  const unsigned opcode = operation.getOpcode();
  const bool is_signed = opcode == llvm::Instruction::SDiv || opcode == llvm::Instruction::SRem;
  llvm::Type* type = dividend->getType();
  llvm::Type* real = Values::Wide(builder.getDoubleTy());
  const auto to_real = [&](llvm::Value* value) {
    return is_signed ? builder.CreateSIToFP(value, real) : builder.CreateUIToFP(value, real);
  };
  llvm::Value* quotient = builder.CreateFDiv(to_real(dividend), to_real(divisor));
  quotient = is_signed ? builder.CreateFPToSI(quotient, type) : builder.CreateFPToUI(quotient, type);
  if (opcode == llvm::Instruction::SDiv || opcode == llvm::Instruction::UDiv) return quotient;
  return builder.CreateSub(dividend, builder.CreateMul(quotient, divisor));
}

}  // namespace tutti::compiler
