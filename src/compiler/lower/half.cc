// f16, bf16 and pairs of them. Computed in f32, whose 24 bits are enough for sums, differences, products and quotients
// of 11-bit numbers to be rounded twice without harm (24 >= 2 * 11 + 2); fma is rounded to odd first. Signs
// and comparisons work on the bits.
#include "compiler/lower/families.h"
#include "compiler/lower/half_values.h"

namespace tutti::compiler::lowering {
namespace {

using M = ptx::Modifier;
using O = ptx::Opcode;

llvm::Value* Widen(Emitter& e, llvm::Value* half) {
  return IsBfloat(e.type()) ? Bf16ToF32(e.ir, half) : F16ToF32(e.ir, half);
}

llvm::Value* Narrow(Emitter& e, llvm::Value* value) {
  return IsBfloat(e.type()) ? F32ToBf16(e.ir, value, Rounding::kNearest) : F32ToF16(e.ir, value, Rounding::kNearest);
}

HalfFormat FormatOf(const Emitter& e) { return IsBfloat(e.type()) ? HalfFormat::kBF16 : HalfFormat::kF16; }

bool Flushes(const Emitter& e) { return !IsBfloat(e.type()) && e.Has(M::kFtz); }

llvm::Value* MinMaxOf(Emitter& e, llvm::Value* a, llvm::Value* b) {
  auto& ir = e.ir;
  llvm::Value* sign = ir.CreateAnd(ir.CreateXor(a, b), ir.getInt16(0x8000));
  if (e.Has(M::kAbs)) {
    a = ir.CreateAnd(a, ir.getInt16(0x7fff));
    b = ir.CreateAnd(b, ir.getInt16(0x7fff));
  }
  const MinMax mode{.maximum = e.instruction().opcode == O::kMax, .propagate_nan = e.Has(M::kPropagateNan)};
  llvm::Value* result = HalfMinMax(ir, a, b, FormatOf(e), mode);
  if (!e.Has(M::kXorsign)) return result;
  llvm::Value* with_sign = ir.CreateOr(ir.CreateAnd(result, ir.getInt16(0x7fff)), sign);
  return ir.CreateSelect(IsNanHalf(ir, result, FormatOf(e)), result, with_sign);  // the canonical NaN has no sign
}

// One result from one operand each. `x` are halves.
llvm::Value* Compute(Emitter& e, llvm::ArrayRef<llvm::Value*> x) {
  auto& ir = e.ir;
  const O opcode = e.instruction().opcode;
  if (opcode == O::kNeg) return ir.CreateXor(x[0], ir.getInt16(0x8000));
  if (opcode == O::kAbs) return ir.CreateAnd(x[0], ir.getInt16(0x7fff));
  if (opcode == O::kMin || opcode == O::kMax) return MinMaxOf(e, x[0], x[1]);
  llvm::Value* a = Widen(e, x[0]);
  llvm::Value* b = x.size() > 1 ? Widen(e, x[1]) : nullptr;
  switch (opcode) {
    case O::kAdd: return Narrow(e, ir.CreateFAdd(a, b));
    case O::kSub: return Narrow(e, ir.CreateFSub(a, b));
    case O::kMul: return Narrow(e, ir.CreateFMul(a, b));
    case O::kFma:
    case O::kMad:
      return Narrow(e, e.CallFn(IsBfloat(e.type()) ? "fma.odd.f32" : "fma.odd.f16", {a, b, Widen(e, x[2])}));
    default: e.Refuse("this operation on half precision is not supported"); return x[0];
  }
}

// .sat and .relu, on the f32 value.
llvm::Value* Finish(Emitter& e, llvm::Value* half) {
  if (Flushes(e)) half = FlushF16ToZero(e.ir, half);
  if (e.Has(M::kSat)) half = Narrow(e, Saturate(e.ir, Widen(e, half)));
  if (e.Has(M::kRelu)) {  // negative becomes +0, NaN the canonical NaN
    llvm::Value* negative = e.ir.CreateICmpSLT(half, e.ir.getInt16(0));
    llvm::Value* clamped = e.ir.CreateSelect(negative, e.ir.getInt16(0), half);
    half = e.ir.CreateSelect(IsNanHalf(e.ir, half, FormatOf(e)), e.ir.getInt16(0x7fff), clamped);
  }
  return half;
}

}  // namespace

void EmitHalfArithmetic(Emitter& e) {
  if (e.Has(M::kRz) || e.Has(M::kRm) || e.Has(M::kRp)) return e.Invalid("half precision rounds to nearest only");
  const bool pair = IsHalfPair(e.type());
  std::vector<llvm::Value*> inputs;
  for (size_t n = 1; n < e.operands(); ++n) inputs.push_back(e.In(n));
  const bool unary = e.instruction().opcode == O::kNeg || e.instruction().opcode == O::kAbs;
  const bool fused = e.instruction().opcode == O::kFma || e.instruction().opcode == O::kMad;
  if (inputs.size() != (unary ? 1u : fused ? 3u : 2u)) return e.Invalid("another number of operands is needed");
  llvm::Value* word = nullptr;
  for (unsigned part = 0; part < (pair ? 2u : 1u); ++part) {
    llvm::SmallVector<llvm::Value*, 3> x;
    for (llvm::Value* input : inputs) {
      llvm::Value* half = pair ? e.ir.CreateTrunc(e.ir.CreateLShr(input, 16 * part), e.ir.getInt16Ty()) : input;
      x.push_back(Flushes(e) ? FlushF16ToZero(e.ir, half) : half);
    }
    llvm::Value* result = Finish(e, Compute(e, x));
    if (!pair) return e.Out(result);
    llvm::Value* placed = e.ir.CreateShl(e.ir.CreateZExt(result, e.ir.getInt32Ty()), 16 * part);
    word = word == nullptr ? placed : e.ir.CreateOr(word, placed);
  }
  e.Out(word);
}

}  // namespace tutti::compiler::lowering
