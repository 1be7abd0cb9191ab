// A quotient of 32-bit integers computed in double precision and truncated is exact. Let 2^(k-1) <= a/b < 2^k. Then
// b < 2^(33-k), so that a quotient which is not whole is more than 2^(k-33) below the next integer, while rounding
// moves it by at most 2^(k-54). Eight lanes at a time in hardware, against one lane per ten cycles or more.
//
// One of 64-bit integers takes two steps, and AVX-512's conversions. Let i be (1 - 2^-50) / b in double precision. a *
// i is rounded four times, by a factor of at most 1 + 2^-53 each, so it is not above a/b, and not below (1 - 2^-49)
// a/b. Its integer part q leaves a remainder a - q * b between 0 and (2^15 + 1) b, and the same step with the remainder
// leaves one below 2b.
#include "compiler/widen/arithmetic/division.h"

#include <llvm/IR/Constants.h>

#include "compiler/widen/emit/function_emitter.h"

namespace tutti::compiler {
namespace {

struct Quotient {
  llvm::Value *quotient, *remainder;
};

// Of vectors of unsigned 64-bit integers.
Quotient DivideWords(llvm::IRBuilder<>& builder, llvm::Value* dividend, llvm::Value* divisor) {
  llvm::Type *type = dividend->getType(), *real = type->getWithNewType(builder.getDoubleTy());
  llvm::Value* inverse =
      builder.CreateFDiv(llvm::ConstantFP::get(real, 1 - 0x1p-50), builder.CreateUIToFP(divisor, real));
  const auto step = [&](llvm::Value* rest) -> Quotient {
    llvm::Value* product = builder.CreateFMul(builder.CreateUIToFP(rest, real), inverse);
    llvm::Value* quotient = builder.CreateFPToUI(product, type);
    return {quotient, builder.CreateSub(rest, builder.CreateMul(quotient, divisor))};
  };
  const Quotient first = step(dividend), second = step(first.remainder);
  llvm::Value* once_more = builder.CreateICmpUGE(second.remainder, divisor);
  llvm::Value* quotient = builder.CreateAdd(first.quotient, second.quotient);
  return {builder.CreateAdd(quotient, builder.CreateZExt(once_more, type)),
          builder.CreateSelect(once_more, builder.CreateSub(second.remainder, divisor), second.remainder)};
}

// Of magnitudes, with the signs afterwards: that of a remainder is the dividend's.
llvm::Value* DivideWords(llvm::IRBuilder<>& builder, unsigned opcode, llvm::Value* dividend, llvm::Value* divisor) {
  const bool wants_quotient = opcode == llvm::Instruction::SDiv || opcode == llvm::Instruction::UDiv;
  if (opcode == llvm::Instruction::UDiv || opcode == llvm::Instruction::URem) {
    const Quotient result = DivideWords(builder, dividend, divisor);
    return wants_quotient ? result.quotient : result.remainder;
  }
  llvm::Type* type = dividend->getType();
  const auto magnitude = [&](llvm::Value* x) {
    return builder.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, builder.getFalse());
  };
  const Quotient result = DivideWords(builder, magnitude(dividend), magnitude(divisor));
  llvm::Value* sign = wants_quotient ? builder.CreateXor(dividend, divisor) : dividend;
  llvm::Value* value = wants_quotient ? result.quotient : result.remainder;
  llvm::Value* negative = builder.CreateICmpSLT(sign, llvm::Constant::getNullValue(type));
  return builder.CreateSelect(negative, builder.CreateNeg(value), value);
}

}  // namespace

llvm::Value* EmitDivision(FunctionEmitter& emitter, const llvm::BinaryOperator& operation, llvm::Value* dividend,
                          llvm::Value* divisor) {
  llvm::IRBuilder<>& builder = emitter.builder();
  if (!llvm::isa<llvm::Constant>(divisor) && !emitter.is_full()) {
    divisor = builder.CreateSelect(emitter.mask(), divisor, llvm::ConstantInt::get(divisor->getType(), 1));
  }
  const unsigned bits = divisor->getType()->getScalarSizeInBits();
  const unsigned opcode = operation.getOpcode();
  if (!llvm::isa<llvm::Constant>(divisor) && bits == 64 && emitter.module().options.avx512)
    return DivideWords(builder, opcode, dividend, divisor);
  if (llvm::isa<llvm::Constant>(divisor) || bits > 32 || bits < 8)
    return builder.CreateBinOp(operation.getOpcode(), dividend, divisor);
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
