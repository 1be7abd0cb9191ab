// Comparisons and selection.
#include "compiler/lower/families.h"
#include "compiler/lower/float_values.h"

namespace tutti::compiler::lowering {
namespace {

using M = ptx::Modifier;
using P = llvm::CmpInst::Predicate;

struct Comparison {
  M modifier;
  P on_signed, on_unsigned, on_float;
};
constexpr Comparison kComparisons[] = {
    {M::kEq, P::ICMP_EQ, P::ICMP_EQ, P::FCMP_OEQ},    {M::kNe, P::ICMP_NE, P::ICMP_NE, P::FCMP_ONE},
    {M::kLt, P::ICMP_SLT, P::ICMP_ULT, P::FCMP_OLT},  {M::kLe, P::ICMP_SLE, P::ICMP_ULE, P::FCMP_OLE},
    {M::kGt, P::ICMP_SGT, P::ICMP_UGT, P::FCMP_OGT},  {M::kGe, P::ICMP_SGE, P::ICMP_UGE, P::FCMP_OGE},
    {M::kLo, P::ICMP_ULT, P::ICMP_ULT, P::FCMP_OLT},  {M::kLs, P::ICMP_ULE, P::ICMP_ULE, P::FCMP_OLE},
    {M::kHi, P::ICMP_UGT, P::ICMP_UGT, P::FCMP_OGT},  {M::kHs, P::ICMP_UGE, P::ICMP_UGE, P::FCMP_OGE},
    {M::kEqu, P::ICMP_EQ, P::ICMP_EQ, P::FCMP_UEQ},   {M::kNeu, P::ICMP_NE, P::ICMP_NE, P::FCMP_UNE},
    {M::kLtu, P::ICMP_ULT, P::ICMP_ULT, P::FCMP_ULT}, {M::kLeu, P::ICMP_ULE, P::ICMP_ULE, P::FCMP_ULE},
    {M::kGtu, P::ICMP_UGT, P::ICMP_UGT, P::FCMP_UGT}, {M::kGeu, P::ICMP_UGE, P::ICMP_UGE, P::FCMP_UGE},
    {M::kNum, P::ICMP_EQ, P::ICMP_EQ, P::FCMP_ORD},   {M::kNan, P::ICMP_EQ, P::ICMP_EQ, P::FCMP_UNO},
};

// a ? b with the instruction's comparison. Halves are given as i16.
llvm::Value* Compare(Emitter& e, llvm::Value* a, llvm::Value* b, ptx::Type type) {
  const Comparison* comparison = nullptr;
  for (const Comparison& row : kComparisons) {
    if (comparison == nullptr && e.Has(row.modifier)) comparison = &row;
  }
  if (comparison == nullptr) {
    e.Invalid("no comparison operator");
    return e.ir.getFalse();
  }
  if (IsHalf(type) || IsHalfPair(type)) {
    const bool bfloat = IsBfloat(type);
    if (!bfloat && e.Has(M::kFtz)) {
      a = FlushF16ToZero(e.ir, a);
      b = FlushF16ToZero(e.ir, b);
    }
    a = bfloat ? Bf16ToF32(e.ir, a) : F16ToF32(e.ir, a);
    b = bfloat ? Bf16ToF32(e.ir, b) : F16ToF32(e.ir, b);
  } else if (!IsWideFloat(type)) {
    return e.ir.CreateICmp(ptx::IsSigned(type) ? comparison->on_signed : comparison->on_unsigned, a, b);
  }
  if (IsSinglePrecision(type) && e.Has(M::kFtz)) {
    a = FlushToZero(e.ir, a);
    b = FlushToZero(e.ir, b);
  }
  return e.ir.CreateFCmp(comparison->on_float, a, b);
}

// `test` combined with the operand's predicate by the instruction's boolean operator.
llvm::Value* Combine(Emitter& e, llvm::Value* test, llvm::Value* with) {
  if (with == nullptr) return test;
  if (e.Has(M::kAnd)) return e.ir.CreateAnd(test, with);
  if (e.Has(M::kOr)) return e.ir.CreateOr(test, with);
  return e.ir.CreateXor(test, with);
}

bool HasBoolean(const Emitter& e) { return e.Has(M::kAnd) || e.Has(M::kOr) || e.Has(M::kXor); }

llvm::Value* Half(Emitter& e, llvm::Value* pair, unsigned part) {
  return e.ir.CreateTrunc(e.ir.CreateLShr(pair, 16 * part), e.ir.getInt16Ty());
}

// 1.0 or all ones, else zero, in a type of set's destination.
llvm::Value* Truth(Emitter& e, llvm::Value* test, ptx::Type type) {
  llvm::Type* llvm_type = TypeOf(e.context(), type);
  llvm::Value* yes = type == ptx::Type::kF32    ? static_cast<llvm::Value*>(llvm::ConstantFP::get(llvm_type, 1.0))
                     : type == ptx::Type::kF16  ? e.ir.getInt16(0x3c00)
                     : type == ptx::Type::kBF16 ? e.ir.getInt16(0x3f80)
                                                : llvm::ConstantInt::getAllOnesValue(llvm_type);
  return e.ir.CreateSelect(test, yes, llvm::Constant::getNullValue(llvm_type));
}

}  // namespace

// setp.op{.bool}{.ftz}.type p{|q}, a, b{, {!}c}: p = (a op b) bool c, q = !(a op b) bool c. For pairs of halves p is of
// the lower parts and q of the upper.
void EmitSetp(Emitter& e) {
  const size_t first = e.instruction().has_second_destination ? 2 : 1;
  const ptx::Type type = e.type();
  llvm::Value* a = e.In(first);
  llvm::Value* b = e.In(first + 1);
  llvm::Value* with = HasBoolean(e) ? e.In(first + 2, ptx::Type::kPred) : nullptr;
  if (IsHalfPair(type)) {
    e.Write(e.operand(0), Combine(e, Compare(e, Half(e, a, 0), Half(e, b, 0), type), with), ptx::Type::kPred);
    if (first == 2)
      e.Write(e.operand(1), Combine(e, Compare(e, Half(e, a, 1), Half(e, b, 1), type), with), ptx::Type::kPred);
    return;
  }
  llvm::Value* test = Compare(e, a, b, type);
  e.Write(e.operand(0), Combine(e, test, with), ptx::Type::kPred);
  if (first == 2) e.Write(e.operand(1), Combine(e, e.ir.CreateNot(test), with), ptx::Type::kPred);
}

// set.op{.bool}{.ftz}.dtype.stype d, a, b{, {!}c}
void EmitSet(Emitter& e) {
  const ptx::Type result = e.type(0);
  const ptx::Type source = e.type(1);
  llvm::Value* a = e.In(1, source);
  llvm::Value* b = e.In(2, source);
  llvm::Value* with = HasBoolean(e) ? e.In(3, ptx::Type::kPred) : nullptr;
  if (!IsHalfPair(source)) return e.Out(Truth(e, Combine(e, Compare(e, a, b, source), with), result), result);
  const ptx::Type part = result == ptx::Type::kF16x2    ? ptx::Type::kF16
                         : result == ptx::Type::kBF16x2 ? ptx::Type::kBF16
                                                        : ptx::Type::kB16;
  llvm::Value* low = Truth(e, Combine(e, Compare(e, Half(e, a, 0), Half(e, b, 0), source), with), part);
  llvm::Value* high = Truth(e, Combine(e, Compare(e, Half(e, a, 1), Half(e, b, 1), source), with), part);
  llvm::Type* word = e.ir.getInt32Ty();
  e.Out(e.ir.CreateOr(e.ir.CreateZExt(low, word), e.ir.CreateShl(e.ir.CreateZExt(high, word), 16)), ptx::Type::kB32);
}

void EmitSelp(Emitter& e) {
  llvm::Value* a = e.In(1);
  llvm::Value* b = e.In(2);
  e.Out(e.ir.CreateSelect(e.In(3, ptx::Type::kPred), a, b));
}

// slct: c >= 0 ? a : b; the second type is c's, s32 or f32 (-0 counts as >= 0, NaN does not).
void EmitSlct(Emitter& e) {
  const ptx::Type type = e.type(1);
  llvm::Value* c = e.In(3, type);
  llvm::Value* test;
  if (IsSinglePrecision(type)) {
    if (e.Has(M::kFtz)) c = FlushToZero(e.ir, c);
    test = e.ir.CreateFCmpOGE(c, llvm::ConstantFP::get(c->getType(), 0.0));
  } else {
    test = e.ir.CreateICmpSGE(c, llvm::ConstantInt::get(c->getType(), 0));
  }
  e.Out(e.ir.CreateSelect(test, e.In(1), e.In(2)));
}

}  // namespace tutti::compiler::lowering
