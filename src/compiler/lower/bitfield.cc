// Counting, finding, extracting and permuting bits.
#include "compiler/lower/families.h"

namespace tutti::compiler::lowering {
namespace {

using M = ptx::Modifier;
using O = ptx::Opcode;

llvm::Value* UMin(Emitter& e, llvm::Value* a, uint64_t b) {
  return e.ir.CreateBinaryIntrinsic(llvm::Intrinsic::umin, a, llvm::ConstantInt::get(a->getType(), b));
}

// The position and length operands of bfe, bfi, bmsk and szext: their low 8 bits.
llvm::Value* Byte(Emitter& e, size_t n) { return e.ir.CreateAnd(e.In(n, ptx::Type::kU32), 255); }

// `length` ones at the bottom; all ones from the width on.
llvm::Value* Ones(Emitter& e, llvm::Value* length, llvm::Type* type) {
  const uint64_t bits = type->getIntegerBitWidth();
  llvm::Value* limited = e.ir.CreateZExtOrTrunc(UMin(e, length, bits), type);
  llvm::Value* all = llvm::ConstantInt::getAllOnesValue(type);
  llvm::Value* is_empty = e.ir.CreateICmpEQ(limited, llvm::ConstantInt::get(type, 0));
  llvm::Value* drop = e.ir.CreateAnd(e.ir.CreateSub(llvm::ConstantInt::get(type, bits), limited), bits - 1);
  return e.ir.CreateSelect(is_empty, llvm::ConstantInt::get(type, 0), e.ir.CreateLShr(all, drop));
}

// value << amount, zero from the width on.
llvm::Value* ShiftLeft(Emitter& e, llvm::Value* value, llvm::Value* amount) {
  llvm::Type* type = value->getType();
  const uint64_t bits = type->getIntegerBitWidth();
  llvm::Value* n = e.ir.CreateZExtOrTrunc(e.ir.CreateAnd(amount, bits - 1), type);
  llvm::Value* beyond = e.ir.CreateICmpUGE(amount, llvm::ConstantInt::get(amount->getType(), bits));
  return e.ir.CreateSelect(beyond, llvm::ConstantInt::get(type, 0), e.ir.CreateShl(value, n));
}

}  // namespace

void EmitBitCount(Emitter& e) {
  llvm::Value* a = e.In(1);
  switch (e.instruction().opcode) {
    case O::kBrev: return e.Out(e.ir.CreateUnaryIntrinsic(llvm::Intrinsic::bitreverse, a));
    case O::kPopc:
      return e.Out(e.ir.CreateZExtOrTrunc(e.ir.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, a), e.ir.getInt32Ty()),
                   ptx::Type::kU32);
    default: {
      llvm::Value* zeros = e.ir.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, a, e.ir.getFalse());
      return e.Out(e.ir.CreateZExtOrTrunc(zeros, e.ir.getInt32Ty()), ptx::Type::kU32);
    }
  }
}

// The position of the highest bit that is set (signed: that differs from the sign), all ones if there is none; with
// .shiftamt the left shift that brings it to the top.
void EmitBfind(Emitter& e) {
  llvm::Value* a = e.In(1);
  const uint32_t bits = a->getType()->getIntegerBitWidth();
  if (ptx::IsSigned(e.type())) a = e.ir.CreateXor(a, e.ir.CreateAShr(a, bits - 1));
  llvm::Value* zeros = e.ir.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, a, e.ir.getFalse());
  zeros = e.ir.CreateZExtOrTrunc(zeros, e.ir.getInt32Ty());
  llvm::Value* found = e.Has(M::kShiftamt) ? zeros : e.ir.CreateSub(e.ir.getInt32(bits - 1), zeros);
  e.Out(e.ir.CreateSelect(e.ir.CreateIsNull(a), e.ir.getInt32(~0u), found), ptx::Type::kU32);
}

// `length` bits of a from `position`; signed: the top one of them (or of a, if they reach beyond it) fills the rest.
void EmitBfe(Emitter& e) {
  llvm::Value* a = e.In(1);
  llvm::Type* type = a->getType();
  const uint32_t bits = type->getIntegerBitWidth();
  llvm::Value* position = Byte(e, 2);
  llvm::Value* length = Byte(e, 3);
  const bool is_signed = ptx::IsSigned(e.type());
  llvm::Value* capped = e.ir.CreateZExtOrTrunc(UMin(e, position, bits - 1), type);
  llvm::Value* beyond = e.ir.CreateICmpUGE(position, e.ir.getInt32(bits));
  llvm::Value* zero = llvm::ConstantInt::get(type, 0);
  llvm::Value* mask = Ones(e, length, type);
  if (!is_signed) {
    llvm::Value* field = e.ir.CreateSelect(beyond, zero, e.ir.CreateLShr(a, capped));
    return e.Out(e.ir.CreateAnd(field, mask));
  }
  llvm::Value* field = e.ir.CreateAShr(a, capped);  // beyond the width: nothing but the sign
  llvm::Value* top = e.ir.CreateSub(e.ir.CreateAdd(position, length), e.ir.getInt32(1));
  llvm::Value* top_capped = e.ir.CreateZExtOrTrunc(UMin(e, top, bits - 1), type);
  llvm::Value* one = llvm::ConstantInt::get(type, 1);
  llvm::Value* sign = e.ir.CreateICmpNE(e.ir.CreateAnd(e.ir.CreateLShr(a, top_capped), one), zero);
  llvm::Value* extended =
      e.ir.CreateSelect(sign, e.ir.CreateOr(field, e.ir.CreateNot(mask)), e.ir.CreateAnd(field, mask));
  e.Out(e.ir.CreateSelect(e.ir.CreateICmpEQ(length, e.ir.getInt32(0)), zero, extended));
}

// The low `length` bits of a, put into b at `position`.
void EmitBfi(Emitter& e) {
  llvm::Value* a = e.In(1);
  llvm::Value* b = e.In(2);
  llvm::Value* position = Byte(e, 3);
  llvm::Value* mask = ShiftLeft(e, Ones(e, Byte(e, 4), a->getType()), position);
  llvm::Value* placed = ShiftLeft(e, a, position);
  e.Out(e.ir.CreateOr(e.ir.CreateAnd(b, e.ir.CreateNot(mask)), e.ir.CreateAnd(placed, mask)));
}

// `width` ones from bit `start`: each taken modulo 32 (.wrap) or at most 32 (.clamp).
void EmitBmsk(Emitter& e) {
  llvm::Value* start = e.In(1, ptx::Type::kU32);
  llvm::Value* width = e.In(2, ptx::Type::kU32);
  if (e.Has(M::kWrap)) {
    start = e.ir.CreateAnd(start, 31);
    width = e.ir.CreateAnd(width, 31);
  }
  e.Out(ShiftLeft(e, Ones(e, width, e.ir.getInt32Ty()), start), ptx::Type::kB32);
}

// The low N bits of a, extended to 32; N modulo 32 (.wrap) or at most 32 (.clamp).
void EmitSzext(Emitter& e) {
  llvm::Value* a = e.In(1);
  llvm::Value* width = e.In(2, ptx::Type::kU32);
  width = e.Has(M::kWrap) ? e.ir.CreateAnd(width, 31) : UMin(e, width, 32);
  llvm::Value* mask = Ones(e, width, e.ir.getInt32Ty());
  llvm::Value* low = e.ir.CreateAnd(a, mask);
  if (!ptx::IsSigned(e.type())) return e.Out(low);
  llvm::Value* top = e.ir.CreateXor(mask, e.ir.CreateLShr(mask, 1));  // the highest bit kept
  llvm::Value* negative = e.ir.CreateIsNotNull(e.ir.CreateAnd(a, top));
  e.Out(e.ir.CreateSelect(negative, e.ir.CreateOr(low, e.ir.CreateNot(mask)), low));
}

// Byte i of the result is byte (selector nibble i & 7) of {b:a}, or its sign repeated if bit 3 of the nibble is set.
// The modes are selectors made from the low two bits of c.
void EmitPrmt(Emitter& e) {
  static constexpr struct {
    M mode;
    uint16_t selectors[4];
  } kModes[] = {
      {M::kF4e, {0x3210, 0x4321, 0x5432, 0x6543}}, {M::kB4e, {0x5670, 0x6701, 0x7012, 0x0123}},
      {M::kRc8, {0x0000, 0x1111, 0x2222, 0x3333}}, {M::kEcl, {0x3210, 0x3211, 0x3222, 0x3333}},
      {M::kEcr, {0x0000, 0x1110, 0x2210, 0x3210}}, {M::kRc16, {0x1010, 0x3232, 0x1010, 0x3232}},
  };
  auto& ir = e.ir;
  llvm::Value* a = e.In(1, ptx::Type::kB32);
  llvm::Value* b = e.In(2, ptx::Type::kB32);
  llvm::Value* selector = e.In(3, ptx::Type::kB32);
  for (const auto& row : kModes) {
    if (!e.Has(row.mode)) continue;
    llvm::Value* index = ir.CreateAnd(selector, 3);
    selector = ir.getInt32(row.selectors[0]);
    for (unsigned i = 1; i < 4; ++i) {
      selector = ir.CreateSelect(ir.CreateICmpEQ(index, ir.getInt32(i)), ir.getInt32(row.selectors[i]), selector);
    }
  }
  if (!llvm::isa<llvm::ConstantInt>(selector)) return e.Out(e.CallFn("prmt", {a, b, selector}), ptx::Type::kB32);
  llvm::Type* wide = ir.getInt64Ty();
  llvm::Value* bytes = ir.CreateOr(ir.CreateShl(ir.CreateZExt(b, wide), 32), ir.CreateZExt(a, wide));
  llvm::Value* result = ir.getInt32(0);
  for (unsigned i = 0; i < 4; ++i) {
    llvm::Value* nibble = ir.CreateLShr(selector, 4 * i);
    llvm::Value* amount = ir.CreateShl(ir.CreateAnd(nibble, 7), 3);
    llvm::Value* byte = ir.CreateTrunc(ir.CreateLShr(bytes, ir.CreateZExt(amount, wide)), ir.getInt8Ty());
    llvm::Value* replicate = ir.CreateIsNotNull(ir.CreateAnd(nibble, 8));
    byte = ir.CreateSelect(replicate, ir.CreateAShr(byte, 7), byte);
    result = ir.CreateOr(result, ir.CreateShl(ir.CreateZExt(byte, ir.getInt32Ty()), 8 * i));
  }
  e.Out(result, ptx::Type::kB32);
}

// The n-th bit that is set from a position on, upwards or, with a negative n, downwards; n = 0: the bit there, if it is
// set. Halves are chosen by their number of bits; downwards is upwards in the mirror.
void EmitFns(Emitter& e) {
  const auto number = [&](uint32_t n) { return e.ir.getInt32(n); };
  const auto ones = [&](llvm::Value* value) { return e.ir.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, value); };
  llvm::Value* mask = e.In(1, ptx::Type::kU32);
  llvm::Value* base = e.In(2, ptx::Type::kU32);
  llvm::Value* n = e.In(3, ptx::Type::kS32);
  llvm::Value* down = e.ir.CreateICmpSLT(n, number(0));
  llvm::Value* here = e.ir.CreateICmpEQ(n, number(0));
  mask = e.ir.CreateSelect(down, e.ir.CreateUnaryIntrinsic(llvm::Intrinsic::bitreverse, mask), mask);
  llvm::Value* from = e.ir.CreateSelect(down, e.ir.CreateSub(number(31), base), base);
  llvm::Value* left = e.ir.CreateAnd(mask, ShiftLeft(e, e.ir.CreateSelect(here, number(1), number(~0u)), from));
  left = e.ir.CreateSelect(e.ir.CreateICmpULT(base, number(32)), left, number(0));
  llvm::Value* wanted = e.ir.CreateSelect(here, number(1), e.ir.CreateSelect(down, e.ir.CreateNeg(n), n));
  llvm::Value* position = number(0);
  for (uint32_t width = 16; width != 0; width /= 2) {
    llvm::Value* below = ones(e.ir.CreateAnd(left, number((1u << width) - 1)));
    llvm::Value* above = e.ir.CreateICmpUGT(wanted, below);
    wanted = e.ir.CreateSub(wanted, e.ir.CreateSelect(above, below, number(0)));
    left = e.ir.CreateSelect(above, e.ir.CreateLShr(left, width), left);
    position = e.ir.CreateAdd(position, e.ir.CreateSelect(above, number(width), number(0)));
  }
  llvm::Value* found = e.ir.CreateAnd(e.ir.CreateICmpEQ(wanted, number(1)), e.ir.CreateTrunc(left, e.ir.getInt1Ty()));
  position = e.ir.CreateSelect(down, e.ir.CreateSub(number(31), position), position);
  e.Out(e.ir.CreateSelect(found, position, number(~0u)), ptx::Type::kU32);
}

}  // namespace tutti::compiler::lowering
