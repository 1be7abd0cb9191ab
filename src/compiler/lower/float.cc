// f32 and f64 arithmetic. IEEE operations are LLVM's; directed rounding is the guest runtime's; .ftz flushes the
// operands and the result of one instruction (only of f32: f64 has no .ftz).
#include "compiler/lower/families.h"
#include "compiler/lower/float_values.h"

namespace tutti::compiler::lowering {
namespace {

using M = ptx::Modifier;
using O = ptx::Opcode;

// Of the instruction's type; f64 is never flushed.
bool Flushes(const Emitter& e) {
  return (IsSinglePrecision(e.type()) || e.type() == ptx::Type::kF32x2) && e.Has(M::kFtz);
}

llvm::Value* InFloat(Emitter& e, size_t n) {
  llvm::Value* value = e.In(n);
  return Flushes(e) ? FlushToZero(e.ir, value) : value;
}

void OutFloat(Emitter& e, llvm::Value* value) {
  if (Flushes(e)) value = FlushToZero(e.ir, value);
  if (e.Has(M::kSat)) value = Saturate(e.ir, value);
  e.Out(value);
}

// An operand of the last type, which may be a half: those are widened.
llvm::Value* InMixed(Emitter& e, size_t n) {
  const ptx::Type type = e.type(1);
  if (type == e.type()) return InFloat(e, n);
  llvm::Value* half = e.In(n, type);
  return type == ptx::Type::kBF16 ? Bf16ToF32(e.ir, half) : F16ToF32(e.ir, half);
}

bool IsMixed(const Emitter& e) { return e.instruction().types.size() > 1; }
bool CanMix(const Emitter& e) {
  return !IsMixed(e) || (IsSinglePrecision(e.type()) && IsHalf(e.type(1)) && e.instruction().types.size() == 2);
}

// "" for round to nearest, "rz", "rm", "rp".
llvm::StringRef DirectionOf(const Emitter& e) {
  return e.Has(M::kRz) ? "rz" : e.Has(M::kRm) ? "rm" : e.Has(M::kRp) ? "rp" : "";
}

// tutti.fn.<operation>.<direction>.<type>
llvm::Value* Directed(Emitter& e, llvm::StringRef operation, llvm::ArrayRef<llvm::Value*> arguments) {
  const char* type = arguments.front()->getType()->isFloatTy() ? ".f32" : ".f64";
  return e.CallFn((operation + "." + DirectionOf(e) + type).str(), arguments);
}

// Of the type of `like`.
llvm::Value* Constant(llvm::Value* like, double value) { return llvm::ConstantFP::get(like->getType(), value); }

llvm::Value* Reciprocal(Emitter& e, llvm::Value* x) { return e.ir.CreateFDiv(Constant(x, 1.0), x); }

llvm::Value* Add(Emitter& e, llvm::Value* a, llvm::Value* b, bool subtract) {
  if (!DirectionOf(e).empty()) {
    return Directed(e, "fma", {a, Constant(a, 1.0), subtract ? e.ir.CreateFNeg(b) : b});
  }
  return subtract ? e.ir.CreateFSub(a, b) : e.ir.CreateFAdd(a, b);
}

// A directed product is a directed fma with a zero that cannot change its sign: -0 + -0 and +0 + -0 are what the
// product is for .rz and .rp, +0 + +0 and -0 + +0 for .rm.
llvm::Value* Multiply(Emitter& e, llvm::Value* a, llvm::Value* b) {
  if (!DirectionOf(e).empty()) return Directed(e, "fma", {a, b, Constant(a, e.Has(M::kRm) ? 0.0 : -0.0)});
  return e.ir.CreateFMul(a, b);
}

llvm::Value* Fma(Emitter& e, llvm::Value* a, llvm::Value* b, llvm::Value* c) {
  return DirectionOf(e).empty() ? e.Intrinsic(llvm::Intrinsic::fma, {a, b, c}) : Directed(e, "fma", {a, b, c});
}

// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 are starting values for Newton steps: 32 bits of input and result count.
llvm::Value* UpperWord(Emitter& e, llvm::Value* x) {
  llvm::Value* bits = e.ir.CreateAnd(e.ir.CreateBitCast(x, e.ir.getInt64Ty()), 0xffffffff00000000ull);
  return e.ir.CreateBitCast(bits, e.ir.getDoubleTy());
}

llvm::Value* FlushF64(Emitter& e, llvm::Value* x) {
  llvm::Value* bits = e.ir.CreateBitCast(x, e.ir.getInt64Ty());
  llvm::Value* small = e.ir.CreateICmpEQ(e.ir.CreateAnd(bits, 0x7ff0000000000000ull), e.ir.getInt64(0));
  return e.ir.CreateBitCast(e.ir.CreateSelect(small, e.ir.CreateAnd(bits, 1ull << 63), bits), e.ir.getDoubleTy());
}

void EmitStartingValue(Emitter& e) {
  llvm::Value* x = FlushF64(e, UpperWord(e, e.In(1)));
  if (e.instruction().opcode == O::kRsqrt) x = e.Intrinsic(llvm::Intrinsic::sqrt, {x});
  e.Out(FlushF64(e, UpperWord(e, Reciprocal(e, x))));
}

}  // namespace

void EmitFloatAddSub(Emitter& e, bool subtract) {
  if (!CanMix(e)) return e.Refuse("additions of these types");
  llvm::Value* a = InMixed(e, 1);
  OutFloat(e, Add(e, a, InFloat(e, 2), subtract));
}

void EmitFloatMul(Emitter& e) {
  llvm::Value* a = InFloat(e, 1);
  OutFloat(e, Multiply(e, a, InFloat(e, 2)));
}

void EmitFloatFma(Emitter& e) {
  if (!CanMix(e)) return e.Refuse("fma of these types");
  llvm::Value* a = InMixed(e, 1);
  llvm::Value* b = InMixed(e, 2);
  OutFloat(e, Fma(e, a, b, InFloat(e, 3)));
}

// add, sub, mul and fma of .f32x2: two numbers in 64 bits.
void EmitFloatPair(Emitter& e) {
  auto& ir = e.ir;
  const O opcode = e.instruction().opcode;
  const auto half = [&](size_t n, unsigned part) {
    llvm::Value* bits = ir.CreateTrunc(ir.CreateLShr(e.In(n), 32 * part), ir.getInt32Ty());
    llvm::Value* value = ir.CreateBitCast(bits, ir.getFloatTy());
    return Flushes(e) ? FlushToZero(ir, value) : value;
  };
  llvm::Value* pair = ir.getInt64(0);
  for (unsigned part = 0; part < 2; ++part) {
    llvm::Value* a = half(1, part);
    llvm::Value* b = half(2, part);
    llvm::Value* result = opcode == O::kMul   ? Multiply(e, a, b)
                          : opcode == O::kFma ? Fma(e, a, b, half(3, part))
                                              : Add(e, a, b, opcode == O::kSub);
    if (Flushes(e)) result = FlushToZero(ir, result);
    llvm::Value* bits = ir.CreateZExt(AsBits(ir, result), ir.getInt64Ty());
    pair = ir.CreateOr(pair, ir.CreateShl(bits, 32 * part));
  }
  e.Out(pair);
}

// .approx and .full may be less exact than they are here.
void EmitFloatDiv(Emitter& e) {
  llvm::Value* a = InFloat(e, 1);
  llvm::Value* b = InFloat(e, 2);
  if (!DirectionOf(e).empty()) return OutFloat(e, Directed(e, "div", {a, b}));
  OutFloat(e, e.ir.CreateFDiv(a, b));
}

void EmitRcpSqrt(Emitter& e) {
  const O opcode = e.instruction().opcode;
  if (IsHalf(e.type()) || IsHalfPair(e.type())) return EmitHalfArithmetic(e);
  if (!IsWideFloat(e.type())) return e.Refuse("this type is not supported");
  if (e.type() == ptx::Type::kF64 && e.Has(M::kApprox) && e.Has(M::kFtz)) return EmitStartingValue(e);
  llvm::Value* x = InFloat(e, 1);
  const bool directed = !DirectionOf(e).empty();
  if (opcode == O::kRcp) {
    return OutFloat(e, directed ? Directed(e, "div", {Constant(x, 1.0), x}) : Reciprocal(e, x));
  }
  if (directed) return OutFloat(e, Directed(e, "sqrt", {x}));
  llvm::Value* root = e.Intrinsic(llvm::Intrinsic::sqrt, {x});
  OutFloat(e, opcode == O::kRsqrt ? Reciprocal(e, root) : root);
}

void EmitFloatAbs(Emitter& e) { OutFloat(e, e.Intrinsic(llvm::Intrinsic::fabs, {InFloat(e, 1)})); }
void EmitFloatNeg(Emitter& e) { OutFloat(e, e.ir.CreateFNeg(InFloat(e, 1))); }

void EmitFloatMinMax(Emitter& e) {
  llvm::Value* a = InFloat(e, 1);
  llvm::Value* b = InFloat(e, 2);
  const MinMax mode{.maximum = e.instruction().opcode == O::kMax, .propagate_nan = e.Has(M::kPropagateNan)};
  llvm::Value* sign = nullptr;
  if (e.Has(M::kXorsign)) sign = e.ir.CreateXor(AsBits(e.ir, a), AsBits(e.ir, b));  // with the product's sign
  const bool magnitudes = e.Has(M::kAbs);
  const auto of = [&](llvm::Value* x) { return magnitudes ? e.Intrinsic(llvm::Intrinsic::fabs, {x}) : x; };
  llvm::Value* result = FloatMinMax(e.ir, of(a), of(b), mode);
  if (e.operands() > 3) result = FloatMinMax(e.ir, result, of(InFloat(e, 3)), mode);
  if (sign != nullptr) {
    llvm::Value* donor = e.ir.CreateBitCast(sign, result->getType());
    result = e.Intrinsic(llvm::Intrinsic::copysign, {result, donor});
  }
  OutFloat(e, result);
}

// The magnitude of b with the sign of a.
void EmitCopysign(Emitter& e) {
  llvm::Value* a = e.In(1);
  e.Out(e.Intrinsic(llvm::Intrinsic::copysign, {e.In(2), a}));
}

// Zeros count as normal numbers.
void EmitTestp(Emitter& e) {
  static constexpr struct {
    M modifier;
    unsigned classes;
  } kTests[] = {
      {M::kFinite, llvm::fcFinite},
      {M::kInfinite, llvm::fcInf},
      {M::kNumber, llvm::fcAllFlags & ~llvm::fcNan},
      {M::kNotanumber, llvm::fcNan},
      {M::kNormal, llvm::fcNormal | llvm::fcZero},
      {M::kSubnormal, llvm::fcSubnormal},
  };
  for (const auto& test : kTests) {
    if (!e.Has(test.modifier)) continue;
    llvm::Value* x = e.In(1);
    llvm::Value* result =
        e.ir.CreateIntrinsic(llvm::Intrinsic::is_fpclass, {x->getType()}, {x, e.ir.getInt32(test.classes)});
    return e.Out(result, ptx::Type::kPred);
  }
  e.Invalid("testp needs a property to test");
}

}  // namespace tutti::compiler::lowering
