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

struct VideoRow {
  O opcode;
  unsigned bits;
  enum { kAdd, kSub, kDistance, kMin, kMax } operation;
};
constexpr VideoRow kVideo[] = {
    {O::kVadd4, 8, VideoRow::kAdd},  {O::kVadd2, 16, VideoRow::kAdd},         {O::kVsub4, 8, VideoRow::kSub},
    {O::kVsub2, 16, VideoRow::kSub}, {O::kVabsdiff4, 8, VideoRow::kDistance}, {O::kVabsdiff2, 16, VideoRow::kDistance},
    {O::kVmin4, 8, VideoRow::kMin},  {O::kVmin2, 16, VideoRow::kMin},         {O::kVmax4, 8, VideoRow::kMax},
    {O::kVmax2, 16, VideoRow::kMax},
};

llvm::Value* VideoElement(Emitter& e, const VideoRow& row, llvm::Value* a, llvm::Value* b) {
  switch (row.operation) {
    case VideoRow::kAdd:
      return e.ir.CreateAdd(a, b);
    case VideoRow::kSub:
      return e.ir.CreateSub(a, b);
    case VideoRow::kDistance:
      return IntegerAbs(e.ir, e.ir.CreateSub(a, b));
    case VideoRow::kMin:
      return IntegerMinMax(e.ir, a, b, true, false);
    default:
      return IntegerMinMax(e.ir, a, b, true, true);
  }
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
  for (unsigned i = 0; i < (four ? 4u : 2u); ++i) {
    llvm::Value* x = Element(e.ir, a, i, four ? 8 : 16, a_signed);
    llvm::Value* y = Element(e.ir, b, i + (!four && e.Has(M::kHi) ? 2 : 0), 8, b_signed);
    sum = e.ir.CreateAdd(sum, e.ir.CreateMul(x, y));
  }
  e.Out(sum, ptx::Type::kB32);
}

// v<op>{2,4}.dtype.atype.btype{.sat}{.add} d, a, b, c: an operation on each of two or four parts; with .add the parts
// are summed into c, without they are put together (c fills parts that a mask leaves out, and masks are not supported).
void EmitVideo(Emitter& e) {
  const VideoRow* row = nullptr;
  for (const VideoRow& candidate : kVideo) {
    if (candidate.opcode == e.instruction().opcode) row = &candidate;
  }
  for (const M modifier : e.instruction().modifiers) {
    if (modifier != M::kSat && modifier != M::kAdd) return e.Refuse("video instructions with masks or selectors");
  }
  for (size_t i = 1; i <= 2; ++i) {
    if (e.operand(i).kind == ptx::OperandKind::kSink) return e.Refuse("too few operands");
  }
  llvm::Value* a = e.In(1, ptx::Type::kB32);
  llvm::Value* b = e.In(2, ptx::Type::kB32);
  const bool result_signed = ptx::IsSigned(e.type(0));
  llvm::Value* sum = e.Has(M::kAdd) ? e.In(3, ptx::Type::kB32) : nullptr;
  llvm::Value* word = nullptr;
  for (unsigned i = 0; i < 32 / row->bits; ++i) {
    llvm::Value* x = Element(e.ir, a, i, row->bits, ptx::IsSigned(e.type(1)));
    llvm::Value* y = Element(e.ir, b, i, row->bits, ptx::IsSigned(e.type(2)));
    llvm::Value* result = VideoElement(e, *row, x, y);
    if (e.Has(M::kSat)) result = Clamp(e, result, row->bits, result_signed);
    if (sum != nullptr) {
      sum = e.ir.CreateAdd(sum, result);
    } else {
      word = Assemble(e.ir, word, result, i, row->bits);
    }
  }
  e.Out(sum != nullptr ? sum : word, ptx::Type::kB32);
}

}  // namespace tutti::compiler::lowering
