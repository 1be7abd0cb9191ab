// Bitwise logic and shifts.
#include "compiler/lower/families.h"

namespace tutti::compiler::lowering {
namespace {

using M = ptx::Modifier;
using O = ptx::Opcode;

// The function of two bits with the truth table `table` (bit 2 b + c of it), bit by bit.
llvm::Value* TwoInputs(llvm::IRBuilder<>& ir, unsigned table, llvm::Value* b, llvm::Value* c) {
  llvm::Type* type = b->getType();
  switch (table & 15) {
    case 0x0: return llvm::ConstantInt::get(type, 0);
    case 0x1: return ir.CreateNot(ir.CreateOr(b, c));
    case 0x2: return ir.CreateAnd(ir.CreateNot(b), c);
    case 0x3: return ir.CreateNot(b);
    case 0x4: return ir.CreateAnd(b, ir.CreateNot(c));
    case 0x5: return ir.CreateNot(c);
    case 0x6: return ir.CreateXor(b, c);
    case 0x7: return ir.CreateNot(ir.CreateAnd(b, c));
    case 0x8: return ir.CreateAnd(b, c);
    case 0x9: return ir.CreateNot(ir.CreateXor(b, c));
    case 0xa: return c;
    case 0xb: return ir.CreateOr(ir.CreateNot(b), c);
    case 0xc: return b;
    case 0xd: return ir.CreateOr(b, ir.CreateNot(c));
    case 0xe: return ir.CreateOr(b, c);
    default: return llvm::ConstantInt::getAllOnesValue(type);
  }
}

}  // namespace

void EmitLogic(Emitter& e) {
  llvm::Value* a = e.In(1);
  switch (e.instruction().opcode) {
    case O::kAnd: return e.Out(e.ir.CreateAnd(a, e.In(2)));
    case O::kOr: return e.Out(e.ir.CreateOr(a, e.In(2)));
    case O::kXor: return e.Out(e.ir.CreateXor(a, e.In(2)));
    case O::kNot: return e.Out(e.ir.CreateNot(a));
    default:  // cnot: 1 for 0, else 0
      return e.Out(e.ir.CreateZExt(e.ir.CreateIsNull(a), a->getType()));
  }
}

// Any function of three bits: bit 4 a + 2 b + c of the table. With f0 and f1 the functions of b and c for a = 0 and 1
// it is f0 ^ (a & (f0 ^ f1)), and f0 ^ f1 is again a function of two.
void EmitLop3(Emitter& e) {
  const size_t first = e.instruction().has_second_destination ? 2 : 1;
  const ptx::Operand& table_operand = e.operand(first + 3);
  if (table_operand.kind != ptx::OperandKind::kImmediate) return e.Invalid("lop3 takes its table as a literal");
  const unsigned table = static_cast<unsigned>(table_operand.bits) & 255;
  llvm::Value* a = e.In(first);
  llvm::Value* b = e.In(first + 1);
  llvm::Value* c = e.In(first + 2);
  llvm::Value* f0 = TwoInputs(e.ir, table & 15, b, c);
  llvm::Value* differs = TwoInputs(e.ir, (table & 15) ^ (table >> 4), b, c);
  llvm::Value* result = e.ir.CreateXor(f0, e.ir.CreateAnd(a, differs));
  if (first == 1) return e.Out(result);
  // lop3.op d|p, a, b, c, table, q: p = (d != 0) op q
  llvm::Value* test = e.ir.CreateIsNotNull(result);
  llvm::Value* with = e.In(first + 4, ptx::Type::kPred);
  e.Out(result);
  if (e.Has(M::kAnd)) return e.Write(e.operand(1), e.ir.CreateAnd(test, with), ptx::Type::kPred);
  if (e.Has(M::kOr)) return e.Write(e.operand(1), e.ir.CreateOr(test, with), ptx::Type::kPred);
  e.Invalid("a second result needs .and or .or");
}

// Amounts of the width and more give what shifting one by one would.
void EmitShift(Emitter& e) {
  llvm::Value* a = e.In(1);
  llvm::Type* type = a->getType();
  if (!type->isIntegerTy()) return e.Invalid("shifts are of integers");
  const uint32_t bits = type->getIntegerBitWidth();
  llvm::Value* amount = e.In(2, ptx::Type::kU32);
  llvm::Value* limit = e.ir.getInt32(bits - 1);
  const auto fit = [&](llvm::Value* n) { return e.ir.CreateZExtOrTrunc(n, type); };
  if (e.instruction().opcode == O::kShr && ptx::IsSigned(e.type())) {
    llvm::Value* clamped = e.ir.CreateBinaryIntrinsic(llvm::Intrinsic::umin, amount, limit);
    return e.Out(e.ir.CreateAShr(a, fit(clamped)));
  }
  llvm::Value* safe = fit(e.ir.CreateAnd(amount, limit));
  llvm::Value* shifted = e.instruction().opcode == O::kShl ? e.ir.CreateShl(a, safe) : e.ir.CreateLShr(a, safe);
  llvm::Value* zero = llvm::ConstantInt::get(type, 0);
  e.Out(e.ir.CreateSelect(e.ir.CreateICmpUGT(amount, limit), zero, shifted));
}

// shf.l: the upper word of {b:a} << c; shf.r: the lower word of {b:a} >> c; c modulo 32 (.wrap) or at most 32 (.clamp).
void EmitFunnelShift(Emitter& e) {
  llvm::Value* low = e.In(1, ptx::Type::kB32);
  llvm::Value* high = e.In(2, ptx::Type::kB32);
  llvm::Value* amount = e.In(3, ptx::Type::kU32);
  const bool left = e.Has(M::kL);
  if (!left && !e.Has(M::kR)) return e.Invalid("shf needs .l or .r");
  llvm::Value* shifted = left ? e.ir.CreateIntrinsic(llvm::Intrinsic::fshl, {e.ir.getInt32Ty()}, {high, low, amount})
                              : e.ir.CreateIntrinsic(llvm::Intrinsic::fshr, {e.ir.getInt32Ty()}, {high, low, amount});
  if (e.Has(M::kClamp)) {
    llvm::Value* all = e.ir.CreateICmpUGT(amount, e.ir.getInt32(31));
    shifted = e.ir.CreateSelect(all, left ? low : high, shifted);
  }
  e.Out(shifted, ptx::Type::kB32);
}

}  // namespace tutti::compiler::lowering
