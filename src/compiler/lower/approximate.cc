// Functions that PTX only approximates: the guest runtime's, within the error that the ISA states.
#include "compiler/lower/families.h"
#include "compiler/lower/float_values.h"

namespace tutti::compiler::lowering {
namespace {

using M = ptx::Modifier;
using O = ptx::Opcode;

const char* FunctionOf(O opcode) {
  switch (opcode) {
    case O::kSin: return "sin.f32";
    case O::kCos: return "cos.f32";
    case O::kEx2: return "ex2.f32";
    case O::kLg2: return "lg2.f32";
    default: return "tanh.f32";
  }
}

llvm::Value* OfHalf(Emitter& e, llvm::Value* half) {
  const bool bfloat = IsBfloat(e.type());
  const bool flushes = bfloat && e.Has(M::kFtz);  // bf16 has the subnormals of f32; f16 keeps its own
  llvm::Value* x = bfloat ? Bf16ToF32(e.ir, half) : F16ToF32(e.ir, half);
  if (flushes) x = FlushToZero(e.ir, x);
  x = e.CallFn(FunctionOf(e.instruction().opcode), {x});
  if (flushes) x = FlushToZero(e.ir, x);
  return bfloat ? F32ToBf16(e.ir, x, Rounding::kNearest) : F32ToF16(e.ir, x, Rounding::kNearest);
}

}  // namespace

void EmitApproximate(Emitter& e) {
  if (IsSinglePrecision(e.type())) {
    const O opcode = e.instruction().opcode;
    llvm::Value* x = e.In(1);
    // 2^x and cos(x) of a subnormal x are what they are of zero.
    if (e.Has(M::kFtz) && opcode != O::kEx2 && opcode != O::kCos) x = FlushToZero(e.ir, x);
    x = e.CallFn(FunctionOf(opcode), {x});
    return e.Out(e.Has(M::kFtz) ? FlushToZero(e.ir, x) : x);
  }
  if (IsHalf(e.type())) return e.Out(OfHalf(e, e.In(1)));
  if (!IsHalfPair(e.type())) return e.Refuse("this type is not supported");
  llvm::Value* pair = e.In(1);
  llvm::Value* low = OfHalf(e, e.ir.CreateTrunc(pair, e.ir.getInt16Ty()));
  llvm::Value* high = OfHalf(e, e.ir.CreateTrunc(e.ir.CreateLShr(pair, 16), e.ir.getInt16Ty()));
  e.Out(e.ir.CreateOr(e.ir.CreateZExt(low, e.ir.getInt32Ty()),
                      e.ir.CreateShl(e.ir.CreateZExt(high, e.ir.getInt32Ty()), 16)));
}

}  // namespace tutti::compiler::lowering
