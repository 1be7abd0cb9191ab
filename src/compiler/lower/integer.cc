#include "compiler/lower/integer.h"

#include "compiler/lower/families.h"

namespace tutti::compiler::lowering {
namespace {

using M = ptx::Modifier;

// The type of twice the width and the same sign.
ptx::Type Doubled(ptx::Type type) {
  switch (type) {
    case ptx::Type::kU16:
    case ptx::Type::kB16: return ptx::Type::kU32;
    case ptx::Type::kS16: return ptx::Type::kS32;
    case ptx::Type::kS32: return ptx::Type::kS64;
    default: return ptx::Type::kU64;
  }
}

llvm::Value* Widen(Emitter& e, llvm::Value* value, ptx::Type from) {
  llvm::Type* type = TypeOf(e.context(), Doubled(from));
  return ptx::IsSigned(from) ? e.ir.CreateSExt(value, type) : e.ir.CreateZExt(value, type);
}

// The full product, flagged as not overflowing, which widening's address analysis profits from.
llvm::Value* WideProduct(Emitter& e, ptx::Type type) {
  llvm::Value* a = Widen(e, e.In(1, type), type);
  llvm::Value* b = Widen(e, e.In(2, type), type);
  const bool is_signed = ptx::IsSigned(type);
  return e.ir.CreateMul(a, b, "", !is_signed, is_signed);
}

}  // namespace

llvm::Value* SaturatingAddSub(llvm::IRBuilder<>& ir, llvm::Value* a, llvm::Value* b, bool subtract) {
  return ir.CreateBinaryIntrinsic(subtract ? llvm::Intrinsic::ssub_sat : llvm::Intrinsic::sadd_sat, a, b);
}

// Schoolbook multiplication of 32-bit halves: vector units have no 128-bit product.
static llvm::Value* MulHigh64(llvm::IRBuilder<>& ir, llvm::Value* a, llvm::Value* b) {
  llvm::Value* mask = llvm::ConstantInt::get(a->getType(), 0xffffffffu);
  llvm::Value* a_low = ir.CreateAnd(a, mask);
  llvm::Value* a_high = ir.CreateLShr(a, 32);
  llvm::Value* b_low = ir.CreateAnd(b, mask);
  llvm::Value* b_high = ir.CreateLShr(b, 32);
  llvm::Value* low = ir.CreateMul(a_low, b_low);
  llvm::Value* cross = ir.CreateAdd(ir.CreateMul(a_high, b_low), ir.CreateLShr(low, 32));
  llvm::Value* other = ir.CreateAdd(ir.CreateMul(a_low, b_high), ir.CreateAnd(cross, mask));
  llvm::Value* high = ir.CreateAdd(ir.CreateMul(a_high, b_high), ir.CreateLShr(cross, 32));
  return ir.CreateAdd(high, ir.CreateLShr(other, 32));
}

llvm::Value* MulHigh(llvm::IRBuilder<>& ir, llvm::Value* a, llvm::Value* b, bool is_signed) {
  const unsigned bits = a->getType()->getIntegerBitWidth();
  if (bits == 64) {
    llvm::Value* high = MulHigh64(ir, a, b);
    if (!is_signed) return high;
    // As unsigned numbers, negative factors are 2^64 too large.
    high = ir.CreateSub(high, ir.CreateAnd(ir.CreateAShr(a, 63), b));
    return ir.CreateSub(high, ir.CreateAnd(ir.CreateAShr(b, 63), a));
  }
  llvm::Type* wide = ir.getIntNTy(2 * bits);
  const auto widen = [&](llvm::Value* v) { return is_signed ? ir.CreateSExt(v, wide) : ir.CreateZExt(v, wide); };
  return ir.CreateTrunc(ir.CreateLShr(ir.CreateMul(widen(a), widen(b)), bits), a->getType());
}

llvm::Value* IntegerMinMax(llvm::IRBuilder<>& ir, llvm::Value* a, llvm::Value* b, bool is_signed, bool maximum) {
  namespace of = llvm::Intrinsic;
  const of::ID id = maximum ? (is_signed ? of::smax : of::umax) : (is_signed ? of::smin : of::umin);
  return ir.CreateBinaryIntrinsic(id, a, b);
}

llvm::Value* IntegerAbs(llvm::IRBuilder<>& ir, llvm::Value* x) {
  return ir.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, ir.getFalse());
}

void EmitIntegerAddSub(Emitter& e, bool subtract) {
  llvm::Value* a = e.In(1);
  llvm::Value* b = e.In(2);
  if (e.Has(M::kSat)) return e.Out(SaturatingAddSub(e.ir, a, b, subtract));
  e.Out(subtract ? e.ir.CreateSub(a, b) : e.ir.CreateAdd(a, b));
}

void EmitIntegerMul(Emitter& e) {
  const ptx::Type type = e.type();
  if (e.Has(M::kWide)) {
    if (ptx::BitsOf(type) > 32) return e.Invalid("mul.wide takes 16 or 32 bits");
    return e.Out(WideProduct(e, type), Doubled(type));
  }
  if (e.Has(M::kHi)) return e.Out(MulHigh(e.ir, e.In(1), e.In(2), ptx::IsSigned(type)));
  e.Out(e.ir.CreateMul(e.In(1), e.In(2)));
}

void EmitIntegerMad(Emitter& e) {
  const ptx::Type type = e.type();
  if (e.Has(M::kWide)) {
    if (ptx::BitsOf(type) > 32) return e.Invalid("mad.wide takes 16 or 32 bits");
    return e.Out(e.ir.CreateAdd(WideProduct(e, type), e.In(3, Doubled(type))), Doubled(type));
  }
  llvm::Value* c = e.In(3);
  if (e.Has(M::kHi)) {
    llvm::Value* high = MulHigh(e.ir, e.In(1), e.In(2), ptx::IsSigned(type));
    if (e.Has(M::kSat)) return e.Out(SaturatingAddSub(e.ir, high, c, false));
    return e.Out(e.ir.CreateAdd(high, c));
  }
  e.Out(e.ir.CreateAdd(e.ir.CreateMul(e.In(1), e.In(2)), c));
}

// Division by zero gives all ones and leaves the dividend as remainder, as GPUs do; INT_MIN / -1 wraps to INT_MIN,
// remainder 0. Neither may trap, also not in lanes that are not active.
void EmitIntegerDivRem(Emitter& e) {
  if (!IsInteger(e.type())) return e.Refuse("division of this type is not supported");
  const bool remainder = e.instruction().opcode == ptx::Opcode::kRem;
  const bool is_signed = ptx::IsSigned(e.type());
  llvm::Value* a = e.In(1);
  llvm::Value* b = e.In(2);
  llvm::Type* type = a->getType();
  llvm::Value* zero = llvm::ConstantInt::get(type, 0);
  llvm::Value* one = llvm::ConstantInt::get(type, 1);
  llvm::Value* ones = llvm::ConstantInt::getAllOnesValue(type);
  llvm::Value* by_zero = e.ir.CreateICmpEQ(b, zero);
  llvm::Value* unsafe = by_zero;
  llvm::Value* overflows = nullptr;
  if (is_signed) {
    llvm::Value* minimum = llvm::ConstantInt::get(type, llvm::APInt::getSignedMinValue(type->getIntegerBitWidth()));
    overflows = e.ir.CreateAnd(e.ir.CreateICmpEQ(a, minimum), e.ir.CreateICmpEQ(b, ones));
    unsafe = e.ir.CreateOr(by_zero, overflows);
  }
  llvm::Value* divisor = e.ir.CreateSelect(unsafe, one, b);
  llvm::Value* result;
  if (remainder) {
    result = is_signed ? e.ir.CreateSRem(a, divisor) : e.ir.CreateURem(a, divisor);
    result = e.ir.CreateSelect(by_zero, a, result);  // INT_MIN % 1 is 0, as it should be
  } else {
    result = is_signed ? e.ir.CreateSDiv(a, divisor) : e.ir.CreateUDiv(a, divisor);  // INT_MIN / 1: likewise
    result = e.ir.CreateSelect(by_zero, ones, result);
  }
  e.Out(result);
}

void EmitIntegerAbs(Emitter& e) { e.Out(IntegerAbs(e.ir, e.In(1))); }
void EmitIntegerNeg(Emitter& e) { e.Out(e.ir.CreateNeg(e.In(1))); }

void EmitIntegerMinMax(Emitter& e) {
  const bool maximum = e.instruction().opcode == ptx::Opcode::kMax;
  if (e.operands() != 3) return e.Invalid("of integers there are two");
  llvm::Value* result = IntegerMinMax(e.ir, e.In(1), e.In(2), ptx::IsSigned(e.type()), maximum);
  if (e.Has(M::kRelu)) result = IntegerMinMax(e.ir, result, llvm::ConstantInt::get(result->getType(), 0), true, true);
  e.Out(result);
}

// The low 24 bits of each factor; bits 0 to 31 (.lo) or 16 to 47 (.hi) of the product.
void EmitMul24(Emitter& e) {
  const bool is_signed = ptx::IsSigned(e.type());
  const auto narrow = [&](llvm::Value* v) {
    v = e.ir.CreateShl(v, 8);
    return is_signed ? e.ir.CreateAShr(v, 8) : e.ir.CreateLShr(v, 8);
  };
  const auto widen = [&](llvm::Value* v) {
    return is_signed ? e.ir.CreateSExt(v, e.ir.getInt64Ty()) : e.ir.CreateZExt(v, e.ir.getInt64Ty());
  };
  llvm::Value* product = e.ir.CreateMul(widen(narrow(e.In(1))), widen(narrow(e.In(2))));
  if (e.Has(M::kHi)) product = e.ir.CreateLShr(product, 16);
  llvm::Value* result = e.ir.CreateTrunc(product, e.ir.getInt32Ty());
  if (e.instruction().opcode == ptx::Opcode::kMad24) {
    llvm::Value* c = e.In(3);
    result = e.Has(M::kSat) ? SaturatingAddSub(e.ir, result, c, false) : e.ir.CreateAdd(result, c);
  }
  e.Out(result);
}

// c + |a - b|
void EmitSad(Emitter& e) {
  const bool is_signed = ptx::IsSigned(e.type());
  llvm::Value* a = e.In(1);
  llvm::Value* b = e.In(2);
  llvm::Value* distance =
      e.ir.CreateSub(IntegerMinMax(e.ir, a, b, is_signed, true), IntegerMinMax(e.ir, a, b, is_signed, false));
  e.Out(e.ir.CreateAdd(e.In(3), distance));
}

}  // namespace tutti::compiler::lowering
