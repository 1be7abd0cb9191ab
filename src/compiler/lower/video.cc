// The video instructions: an operation on 32-bit integers or parts of a register, computed without loss, then optional
// saturation, and then a second operation or a merge with a third operand. The scalar ones compute in 64 bits, of which
// their results need 34.
#include "compiler/lower/families.h"
#include "compiler/lower/integer.h"

namespace tutti::compiler::lowering {
namespace {

using M = ptx::Modifier;
using O = ptx::Opcode;
using T = ptx::Type;

enum class Operation { kAdd, kSub, kDistance, kMin, kMax, kAverage, kCompare, kShiftLeft, kShiftRight };

struct Row {
  O opcode;
  Operation operation;
  unsigned parts;  // 1: scalar
};
constexpr Row kRows[] = {
    {O::kVadd, Operation::kAdd, 1},           {O::kVadd2, Operation::kAdd, 2},
    {O::kVadd4, Operation::kAdd, 4},          {O::kVsub, Operation::kSub, 1},
    {O::kVsub2, Operation::kSub, 2},          {O::kVsub4, Operation::kSub, 4},
    {O::kVabsdiff, Operation::kDistance, 1},  {O::kVabsdiff2, Operation::kDistance, 2},
    {O::kVabsdiff4, Operation::kDistance, 4}, {O::kVmin, Operation::kMin, 1},
    {O::kVmin2, Operation::kMin, 2},          {O::kVmin4, Operation::kMin, 4},
    {O::kVmax, Operation::kMax, 1},           {O::kVmax2, Operation::kMax, 2},
    {O::kVmax4, Operation::kMax, 4},          {O::kVavrg2, Operation::kAverage, 2},
    {O::kVavrg4, Operation::kAverage, 4},     {O::kVset, Operation::kCompare, 1},
    {O::kVset2, Operation::kCompare, 2},      {O::kVset4, Operation::kCompare, 4},
    {O::kVshl, Operation::kShiftLeft, 1},     {O::kVshr, Operation::kShiftRight, 1},
};

const Row& RowOf(const Emitter& e) {
  for (const Row& row : kRows) {
    if (row.opcode == e.instruction().opcode) return row;
  }
  return kRows[0];
}

// .dtype.atype.btype; comparisons have no dtype, their results are unsigned.
struct Types {
  T result, a, b;
};
Types TypesOf(const Emitter& e) {
  if (RowOf(e).operation == Operation::kCompare) return {T::kU32, e.type(0), e.type(1)};
  return {e.type(0), e.type(1), e.type(2)};
}

// --- Selectors: see PackSelector.

unsigned DigitCount(uint32_t selector) { return selector >> 16 & 15; }
unsigned Digit(uint32_t selector, unsigned n) { return selector >> (4 * n) & 15; }
bool OfHalves(uint32_t selector) { return (selector >> 20 & 1) != 0; }

// One part of a register, of `bits` bits.
struct Part {
  unsigned index = 0, bits = 32;
};
bool PartOf(Emitter& e, const ptx::Operand& operand, Part* part) {
  if (operand.selector == 0) return true;
  *part = {Digit(operand.selector, 0), OfHalves(operand.selector) ? 16u : 8u};
  if (DigitCount(operand.selector) == 1 && part->index * part->bits < 32) return true;
  e.Invalid("a register has no such part");
  return false;
}

// Part of an i32 as i64, which holds all numbers of both signs.
llvm::Value* Extract(Emitter& e, llvm::Value* word, Part part, bool is_signed) {
  auto& ir = e.ir;
  llvm::Value* wide = ir.CreateZExt(word, ir.getInt64Ty());
  wide = ir.CreateShl(wide, 64 - part.bits * (part.index + 1));
  return is_signed ? ir.CreateAShr(wide, 64 - part.bits) : ir.CreateLShr(wide, 64 - part.bits);
}

llvm::Value* Compare(Emitter& e, llvm::Value* a, llvm::Value* b) {
  using P = llvm::CmpInst::Predicate;
  static constexpr struct {
    M modifier;
    P predicate;
  } kComparisons[] = {{M::kEq, P::ICMP_EQ},  {M::kNe, P::ICMP_NE},  {M::kLt, P::ICMP_SLT},
                      {M::kLe, P::ICMP_SLE}, {M::kGt, P::ICMP_SGT}, {M::kGe, P::ICMP_SGE}};
  for (const auto& row : kComparisons) {
    if (e.Has(row.modifier)) return e.ir.CreateZExt(e.ir.CreateICmp(row.predicate, a, b), a->getType());
  }
  e.Invalid("no comparison operator");
  return a;
}

// a op b of i64 that hold up to 33 bits; no shifts.
llvm::Value* Compute(Emitter& e, Operation operation, llvm::Value* a, llvm::Value* b) {
  auto& ir = e.ir;
  switch (operation) {
    case Operation::kAdd: return ir.CreateAdd(a, b);
    case Operation::kSub: return ir.CreateSub(a, b);
    case Operation::kDistance: return IntegerAbs(ir, ir.CreateSub(a, b));
    case Operation::kMin: return IntegerMinMax(ir, a, b, true, false);
    case Operation::kMax: return IntegerMinMax(ir, a, b, true, true);
    case Operation::kAverage: {  // halves go up, of negative sums down
      llvm::Value* sum = ir.CreateAdd(a, b);
      llvm::Value* is_positive = ir.CreateICmpSGE(sum, ir.getInt64(0));
      return ir.CreateAShr(ir.CreateAdd(sum, ir.CreateZExt(is_positive, ir.getInt64Ty())), 1);
    }
    default: return Compare(e, a, b);
  }
}

// To what `bits` bits hold.
llvm::Value* Clamp(Emitter& e, llvm::Value* value, unsigned bits, bool is_signed) {
  const int64_t low = is_signed ? -(int64_t{1} << (bits - 1)) : 0;
  const int64_t high = is_signed ? (int64_t{1} << (bits - 1)) - 1 : (int64_t{1} << bits) - 1;
  value = IntegerMinMax(e.ir, value, e.ir.getInt64(static_cast<uint64_t>(low)), true, true);
  return IntegerMinMax(e.ir, value, e.ir.getInt64(static_cast<uint64_t>(high)), true, false);
}

// vshl and vshr: by b modulo 32 (.wrap) or at most 32 (.clamp). A 33-bit number shifted left by 32 needs 65 bits, so
// saturation is decided before the last step.
llvm::Value* Shift(Emitter& e, const Row& row, llvm::Value* a, llvm::Value* b, unsigned limit_bits, bool is_signed) {
  auto& ir = e.ir;
  if (e.Has(M::kWrap)) {
    b = ir.CreateAnd(b, 31);
  } else if (e.Has(M::kClamp)) {
    b = ir.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b, ir.getInt64(32));
  } else {
    e.Invalid("a shift needs .clamp or .wrap");
  }
  if (row.operation == Operation::kShiftRight) {
    llvm::Value* result = ir.CreateAShr(a, b);
    return limit_bits != 0 ? Clamp(e, result, limit_bits, is_signed) : result;
  }
  if (limit_bits == 0) return ir.CreateShl(a, b);
  llvm::Value* most = ir.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b, ir.getInt64(30));
  llvm::Value* result = ir.CreateShl(a, most);  // 63 bits and a sign
  llvm::Value* rest = ir.CreateSub(b, most);
  return Clamp(e, ir.CreateShl(Clamp(e, result, 40, true), rest), limit_bits, is_signed);
}

// The result and c, combined by .add, .min or .max, or c with a part replaced.
void Finish(Emitter& e, llvm::Value* result, bool is_signed) {
  auto& ir = e.ir;
  const bool adds = e.Has(M::kAdd), takes_min = e.Has(M::kMin), takes_max = e.Has(M::kMax);
  const bool merges = e.operand(0).selector != 0;
  if (!adds && !takes_min && !takes_max && !merges) {
    return e.Out(ir.CreateTrunc(result, ir.getInt32Ty()), T::kB32);
  }
  if (e.operands() < 4 || (merges && (adds || takes_min || takes_max))) return e.Invalid("no form of this instruction");
  llvm::Value* third = e.In(3, T::kB32);
  if (merges) {
    Part part;
    if (!PartOf(e, e.operand(0), &part)) return;
    const auto mask = static_cast<uint32_t>(((uint64_t{1} << part.bits) - 1) << (part.index * part.bits));
    llvm::Value* placed = ir.CreateShl(ir.CreateTrunc(result, ir.getInt32Ty()), part.index * part.bits);
    return e.Out(ir.CreateOr(ir.CreateAnd(placed, mask), ir.CreateAnd(third, ~mask)), T::kB32);
  }
  llvm::Value* wide = Extract(e, third, {}, is_signed);
  if (adds) {
    result = ir.CreateAdd(result, wide);
  } else {
    result = ir.CreateAShr(ir.CreateShl(result, 31), 31);  // 33 bits are what is compared
    result = IntegerMinMax(ir, result, wide, true, takes_max);
  }
  e.Out(ir.CreateTrunc(result, ir.getInt32Ty()), T::kB32);
}

// The eight bytes or four halves of {b:a} that a SIMD operand picks: by its selector, else its own register's.
unsigned Picked(const ptx::Operand& operand, unsigned part, unsigned parts, bool is_second) {
  if (operand.selector == 0) return part + (is_second ? parts : 0);
  return Digit(operand.selector, parts - 1 - part);
}

// tutti.fn.<name> does the operation with whole registers of bytes, of which none is limited; "" if there is none.
std::string OfBytes(Emitter& e, const Row& row, const Types& types, bool limits) {
  const bool of_registers = e.operand(1).selector == 0 && e.operand(2).selector == 0;
  if (row.parts != 4 || !of_registers || types.a != types.b) return "";
  const bool is_distance = row.operation == Operation::kDistance;
  if (limits && (is_distance ? ptx::IsSigned(types.result) : types.result != types.a)) return "";
  const char* name = is_distance                        ? "distance"
                     : row.operation == Operation::kMin ? "least"
                     : row.operation == Operation::kMax ? "most"
                                                        : nullptr;
  return name == nullptr ? "" : std::string(name) + (ptx::IsSigned(types.a) ? ".s8" : ".u8");
}

}  // namespace

// v<op>.dtype.atype.btype{.sat}{.op2} d{.part}, a{.part}, b{.part}{, c}
void EmitVideo(Emitter& e) {
  const Row& row = RowOf(e);
  const Types types = TypesOf(e);
  const bool is_signed = ptx::IsSigned(types.result);
  Part parts[3];
  for (size_t i = 0; i < 3; ++i) {
    if (!PartOf(e, e.operand(i), &parts[i])) return;
  }
  llvm::Value* a = Extract(e, e.In(1, T::kB32), parts[1], ptx::IsSigned(types.a));
  llvm::Value* b = Extract(e, e.In(2, T::kB32), parts[2], ptx::IsSigned(types.b));
  const unsigned limit_bits = row.operation != Operation::kCompare && e.Has(M::kSat) ? parts[0].bits : 0;
  if (row.operation == Operation::kShiftLeft || row.operation == Operation::kShiftRight) {
    return Finish(e, Shift(e, row, a, b, limit_bits, is_signed), is_signed);
  }
  llvm::Value* result = Compute(e, row.operation, a, b);
  if (limit_bits != 0) result = Clamp(e, result, limit_bits, is_signed);
  Finish(e, result, is_signed);
}

// vmad.dtype.atype.btype{.po}{.sat}{.scale} d, {-}a{.part}, {-}b{.part}, {-}c: a * b + c, or plus one more (.po),
// shifted right by 7 or 15. The sum of two unsigned numbers' negated product needs more than 64 bits.
void EmitVideoMad(Emitter& e) {
  auto& ir = e.ir;
  Part parts[2];
  if (!PartOf(e, e.operand(1), &parts[0]) || !PartOf(e, e.operand(2), &parts[1])) return;
  const bool negates_product = e.operand(1).negated != e.operand(2).negated, negates_c = e.operand(3).negated;
  const auto plain = [&](size_t n) {
    ptx::Operand operand = e.operand(n);
    operand.negated = false;
    return e.Read(operand, T::kB32);
  };
  const bool of_signed = ptx::IsSigned(e.type(1)) || ptx::IsSigned(e.type(2));
  const bool is_signed = of_signed || negates_product || negates_c;
  llvm::Type* type = is_signed && !of_signed ? ir.getInt128Ty() : ir.getInt64Ty();
  llvm::Value* a = ir.CreateZExt(Extract(e, plain(1), parts[0], ptx::IsSigned(e.type(1))), type);
  llvm::Value* b = ir.CreateZExt(Extract(e, plain(2), parts[1], ptx::IsSigned(e.type(2))), type);
  llvm::Value* c = plain(3);
  c = of_signed || negates_product ? ir.CreateSExt(c, type) : ir.CreateZExt(c, type);
  llvm::Value* product = ir.CreateMul(a, b);
  const bool one_more = e.Has(M::kPo);
  if (one_more && (negates_product || negates_c)) return e.Invalid(".po excludes a minus sign");
  if (negates_product) product = ir.CreateNeg(product);
  if (negates_c && !negates_product) c = ir.CreateNeg(c);
  llvm::Value* result = ir.CreateAdd(ir.CreateAdd(product, c), llvm::ConstantInt::get(type, one_more ? 1 : 0));
  if (const unsigned shift = e.Has(M::kShr7) ? 7 : e.Has(M::kShr15) ? 15 : 0) {
    result = is_signed ? ir.CreateAShr(result, shift) : ir.CreateLShr(result, shift);
  }
  if (e.Has(M::kSat)) {
    const llvm::APInt low = is_signed ? llvm::APInt::getSignedMinValue(32).sext(type->getIntegerBitWidth())
                                      : llvm::APInt::getZero(type->getIntegerBitWidth());
    const uint64_t high = is_signed ? 0x7fffffff : 0xffffffff;
    if (is_signed) result = IntegerMinMax(ir, result, llvm::ConstantInt::get(type, low), true, true);
    result = IntegerMinMax(ir, result, llvm::ConstantInt::get(type, high), is_signed, false);
  }
  e.Out(ir.CreateTrunc(result, ir.getInt32Ty()), T::kB32);
}

// v<op>{2,4}.dtype.atype.btype{.sat}{.add} d{.mask}, a{.parts}, b{.parts}, c: an operation on each of two or four
// parts. With .add those of the mask are summed into c, without c fills the parts that the mask leaves out.
void EmitSimdVideo(Emitter& e) {
  auto& ir = e.ir;
  const Row& row = RowOf(e);
  const Types types = TypesOf(e);
  const unsigned parts = row.parts, bits = 32 / parts;
  uint32_t mask = 0;
  const uint32_t chosen = e.operand(0).selector;
  for (unsigned i = 0; i < DigitCount(chosen); ++i) mask |= 1u << Digit(chosen, i);
  if (chosen == 0) mask = (1u << parts) - 1;
  for (size_t i = 0; i < 3; ++i) {
    const uint32_t selector = e.operand(i).selector;
    const bool fits = OfHalves(selector) == (parts == 2) && (i == 0 || DigitCount(selector) == parts);
    if (selector != 0 && !fits) return e.Invalid("a register has no such parts");
  }
  llvm::Value* a = e.In(1, T::kB32);
  llvm::Value* b = e.In(2, T::kB32);
  const bool sums = e.Has(M::kAdd);
  llvm::Value* result = e.In(3, T::kB32);
  const bool limits = row.operation != Operation::kCompare && !sums && e.Has(M::kSat);
  if (const std::string name = OfBytes(e, row, types, limits); !name.empty()) {
    uint32_t places = 0;
    for (unsigned i = 0; i < parts; ++i) places |= (mask >> i & 1) << (8 * i);
    llvm::Value* bytes = ir.CreateAnd(e.CallFn(name, {a, b}), places * 255);
    if (!sums) return e.Out(ir.CreateOr(bytes, ir.CreateAnd(result, ~(places * 255))), T::kB32);
    const bool of_signed = ptx::IsSigned(types.a) && row.operation != Operation::kDistance;
    return e.Out(e.CallFn(of_signed ? "dp4a.s8.s8" : "dp4a.u8.s8", {bytes, ir.getInt32(0x01010101), result}), T::kB32);
  }
  const auto element = [&](const ptx::Operand& operand, unsigned part, bool is_second, T type) {
    const unsigned picked = Picked(operand, part, parts, is_second);
    return Extract(e, picked < parts ? a : b, {picked % parts, bits}, ptx::IsSigned(type));
  };
  for (unsigned i = 0; i < parts; ++i) {
    if ((mask >> i & 1) == 0) continue;
    llvm::Value* x =
        Compute(e, row.operation, element(e.operand(1), i, false, types.a), element(e.operand(2), i, true, types.b));
    if (limits) x = Clamp(e, x, bits, ptx::IsSigned(types.result));
    x = ir.CreateTrunc(x, ir.getInt32Ty());
    if (sums) {
      result = ir.CreateAdd(result, x);
    } else {
      const auto place = static_cast<uint32_t>(((uint64_t{1} << bits) - 1) << (i * bits));
      result = ir.CreateOr(ir.CreateAnd(result, ~place), ir.CreateAnd(ir.CreateShl(x, i * bits), place));
    }
  }
  e.Out(result, T::kB32);
}

}  // namespace tutti::compiler::lowering
