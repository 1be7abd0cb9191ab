// Opcodes that exist for several kinds of number, dispatched to the family of their type.
#include "compiler/lower/families.h"

namespace tutti::compiler::lowering {
namespace {

using M = ptx::Modifier;

bool OnHalves(const Emitter& e) { return IsHalf(e.type()) || IsHalfPair(e.type()); }
bool OnIntegerPairs(const Emitter& e) { return e.type() == ptx::Type::kU16x2 || e.type() == ptx::Type::kS16x2; }

// What is left goes to the integer family; refuses other types.
bool CheckInteger(Emitter& e) {
  if (IsInteger(e.type())) return true;
  e.Refuse("arithmetic on this type is not supported");
  return false;
}

}  // namespace

void EmitAdd(Emitter& e) {
  if (OnHalves(e)) return EmitHalfArithmetic(e);
  if (IsWideFloat(e.type())) return EmitFloatAddSub(e, false);
  if (e.type() == ptx::Type::kF32x2) return EmitFloatPair(e);
  if (OnIntegerPairs(e)) return EmitPackedInteger(e);
  if (!CheckInteger(e)) return;
  if (UsesCarry(e)) return EmitCarryAddSub(e);
  EmitIntegerAddSub(e, false);
}

void EmitSub(Emitter& e) {
  if (OnHalves(e)) return EmitHalfArithmetic(e);
  if (IsWideFloat(e.type())) return EmitFloatAddSub(e, true);
  if (e.type() == ptx::Type::kF32x2) return EmitFloatPair(e);
  if (OnIntegerPairs(e)) return EmitPackedInteger(e);
  if (!CheckInteger(e)) return;
  if (UsesCarry(e)) return EmitCarryAddSub(e);
  EmitIntegerAddSub(e, true);
}

void EmitMul(Emitter& e) {
  if (OnHalves(e)) return EmitHalfArithmetic(e);
  if (IsWideFloat(e.type())) return EmitFloatMul(e);
  if (e.type() == ptx::Type::kF32x2) return EmitFloatPair(e);
  if (CheckInteger(e)) EmitIntegerMul(e);
}

void EmitMad(Emitter& e) {
  if (OnHalves(e)) return EmitHalfArithmetic(e);
  if (IsWideFloat(e.type())) return EmitFloatFma(e);
  if (e.type() == ptx::Type::kF32x2) return EmitFloatPair(e);
  if (!CheckInteger(e)) return;
  if (UsesCarry(e)) return EmitCarryMad(e);
  EmitIntegerMad(e);
}

void EmitDiv(Emitter& e) {
  if (IsWideFloat(e.type())) return EmitFloatDiv(e);
  if (CheckInteger(e)) EmitIntegerDivRem(e);
}

void EmitAbs(Emitter& e) {
  if (OnHalves(e)) return EmitHalfArithmetic(e);
  if (IsWideFloat(e.type())) return EmitFloatAbs(e);
  if (CheckInteger(e)) EmitIntegerAbs(e);
}

void EmitNeg(Emitter& e) {
  if (OnHalves(e)) return EmitHalfArithmetic(e);
  if (IsWideFloat(e.type())) return EmitFloatNeg(e);
  if (CheckInteger(e)) EmitIntegerNeg(e);
}

void EmitMinMax(Emitter& e) {
  if (OnHalves(e)) return EmitHalfArithmetic(e);
  if (IsWideFloat(e.type())) return EmitFloatMinMax(e);
  if (OnIntegerPairs(e)) return EmitPackedInteger(e);
  if (CheckInteger(e)) EmitIntegerMinMax(e);
}

}  // namespace tutti::compiler::lowering
