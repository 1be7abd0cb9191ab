// Several small integers in one 32-bit register.
#include "compiler/lower/families.h"
#include "compiler/lower/integer.h"

namespace tutti::compiler::lowering {
namespace {

using M = ptx::Modifier;
using O = ptx::Opcode;

// Element `index` of `bits` bits, extended to 32.
llvm::Value* Element(llvm::IRBuilder<>& ir, llvm::Value* word, unsigned index, unsigned bits, bool is_signed) {
  llvm::Value* left = ir.CreateShl(word, 32 - bits * (index + 1));
  return is_signed ? ir.CreateAShr(left, 32 - bits) : ir.CreateLShr(left, 32 - bits);
}

llvm::Value* Assemble(llvm::IRBuilder<>& ir, llvm::Value* word, llvm::Value* element, unsigned index, unsigned bits) {
  llvm::Value* low = ir.CreateAnd(element, (1u << bits) - 1);
  llvm::Value* placed = ir.CreateShl(low, bits * index);
  return word == nullptr ? placed : ir.CreateOr(word, placed);
}

llvm::Value* Clamp(Emitter& e, llvm::Value* value, unsigned bits, bool is_signed) {
  const int64_t low = is_signed ? -(int64_t{1} << (bits - 1)) : 0;
  const int64_t high = is_signed ? (int64_t{1} << (bits - 1)) - 1 : (int64_t{1} << bits) - 1;
  llvm::Type* type = value->getType();
  value = IntegerMinMax(e.ir, value, llvm::ConstantInt::get(type, static_cast<uint64_t>(low), true), true, true);
  return IntegerMinMax(e.ir, value, llvm::ConstantInt::get(type, static_cast<uint64_t>(high), true), true, false);
}

}  // namespace

// add, sub, min, max of .u16x2 and .s16x2.
void EmitPackedInteger(Emitter& e) {
  const bool is_signed = e.type() == ptx::Type::kS16x2;
  const O opcode = e.instruction().opcode;
  llvm::Value* a = e.In(1);
  llvm::Value* b = e.In(2);
  llvm::Value* word = nullptr;
  for (unsigned i = 0; i < 2; ++i) {
    llvm::Value* x = Element(e.ir, a, i, 16, is_signed);
    llvm::Value* y = Element(e.ir, b, i, 16, is_signed);
    llvm::Value* result = opcode == O::kAdd   ? e.ir.CreateAdd(x, y)
                          : opcode == O::kSub ? e.ir.CreateSub(x, y)
                                              : IntegerMinMax(e.ir, x, y, is_signed, opcode == O::kMax);
    if (e.Has(M::kRelu)) result = IntegerMinMax(e.ir, result, e.ir.getInt32(0), true, true);
    if (e.Has(M::kSat)) result = Clamp(e, result, 16, is_signed);
    word = Assemble(e.ir, word, result, i, 16);
  }
  e.Out(word);
}

// dp4a: four products of bytes; dp2a: two products of a 16-bit number and a byte of the low or high half; plus c.
void EmitDotProduct(Emitter& e) {
  const bool four = e.instruction().opcode == O::kDp4a;
  const bool a_signed = ptx::IsSigned(e.type(0));
  const bool b_signed = ptx::IsSigned(e.type(1));
  llvm::Value* a = e.In(1, ptx::Type::kB32);
  llvm::Value* b = e.In(2, ptx::Type::kB32);
  llvm::Value* sum = e.In(3, ptx::Type::kB32);
  if (four) {
    if (a_signed && !b_signed) std::swap(a, b);
    return e.Out(e.CallFn(a_signed != b_signed ? "dp4a.u8.s8"
                          : a_signed           ? "dp4a.s8.s8"
                                               : "dp4a.u8.u8",
                          {a, b, sum}),
                 ptx::Type::kB32);
  }
  for (unsigned i = 0; i < 2; ++i) {
    llvm::Value* x = Element(e.ir, a, i, 16, a_signed);
    llvm::Value* y = Element(e.ir, b, i + (e.Has(M::kHi) ? 2 : 0), 8, b_signed);
    sum = e.ir.CreateAdd(sum, e.ir.CreateMul(x, y));
  }
  e.Out(sum, ptx::Type::kB32);
}

// cvt.pack.sat.type.s32{.b32} d, a, b{, c}: a and b, each limited to the type, side by side at the bottom with b
// lowest; small types push c up.
void EmitCvtPack(Emitter& e) {
  auto& ir = e.ir;
  const unsigned bits = ptx::BitsOf(e.type());
  const bool pushes = e.instruction().types.size() == 3;
  if (!e.Has(M::kSat) || e.type(1) != ptx::Type::kS32 || bits > 16 || (bits == 16) == pushes) {
    return e.Invalid("no form of cvt.pack");
  }
  if (e.operands() != (pushes ? 4u : 3u)) return e.Invalid("another number of operands is needed");
  const bool is_signed = ptx::IsSigned(e.type());
  llvm::Value* a = ir.CreateAnd(Clamp(e, e.In(1, ptx::Type::kS32), bits, is_signed), (1u << bits) - 1);
  llvm::Value* b = ir.CreateAnd(Clamp(e, e.In(2, ptx::Type::kS32), bits, is_signed), (1u << bits) - 1);
  llvm::Value* word = ir.CreateOr(ir.CreateShl(a, bits), b);
  if (pushes) word = ir.CreateOr(ir.CreateShl(e.In(3, ptx::Type::kB32), 2 * bits), word);
  e.Out(word, ptx::Type::kB32);
}

}  // namespace tutti::compiler::lowering
