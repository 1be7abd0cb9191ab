// cvt.rs: f32 to pairs of halves, or to fours of narrower floats. The random bits are added to the highest bits that
// the result drops; a carry makes its magnitude one step larger.
//
// Each half takes its random bits from its half of the operand, 13 for f16 and 16 for bf16. Of four narrow results two
// share 16 bits, which the first of them reads in reverse: the upper two results the operand's upper half, the lower
// two its lower half; for e2m1 the upper two the upper bytes of both halves, the lower two the lower bytes. The ISA
// does not specify this order; it is what has been measured and published of GPUs of compute capability 10.0.
#include "compiler/lower/float_values.h"
#include "compiler/lower/narrow_formats.h"

namespace tutti::compiler::lowering {
namespace {

using M = ptx::Modifier;
using T = ptx::Type;

struct Target {
  T type;
  unsigned results;
  unsigned width;  // of a result in the register
  unsigned sign;  // place of its bit
  unsigned mantissa;
  int bias;
  uint32_t largest;  // finite code
  uint32_t overflow;  // code of what is larger, without .satfinite
  uint32_t nan;
  unsigned random_bits;
};
constexpr Target kTargets[] = {
    {T::kF16x2, 2, 16, 15, 10, 15, 0x7bff, 0x7c00, 0x7fff, 13},
    {T::kBF16x2, 2, 16, 15, 7, 127, 0x7f7f, 0x7f80, 0x7fff, 16},
    {T::kE4M3x4, 4, 8, 7, 3, 7, 0x7e, 0x7e, 0x7f, 16},
    {T::kE5M2x4, 4, 8, 7, 2, 15, 0x7b, 0x7b, 0x7f, 16},
    {T::kE2M3x4, 4, 8, 5, 3, 1, 0x1f, 0x1f, 0x1f, 16},
    {T::kE3M2x4, 4, 8, 5, 2, 3, 0x1f, 0x1f, 0x1f, 16},
    {T::kE2M1x4, 4, 4, 3, 1, 1, 0x7, 0x7, 0x7, 16},
};

const Target* TargetOf(T type) {
  for (const Target& target : kTargets) {
    if (target.type == type) return &target;
  }
  return nullptr;
}

// The random bits of result n, the lowest being 0, as i64.
llvm::Value* RandomBits(Emitter& e, const Target& target, llvm::Value* operand, unsigned n) {
  auto& ir = e.ir;
  llvm::Value* bits;
  if (target.results == 2) {
    bits = ir.CreateAnd(ir.CreateLShr(operand, 16 * n), (1u << target.random_bits) - 1);
  } else {
    const unsigned pair = n / 2;
    if (target.width == 4) {
      llvm::Value* high = ir.CreateAnd(ir.CreateLShr(operand, 16 + 8 * pair), 0xff);
      bits = ir.CreateOr(ir.CreateShl(high, 8), ir.CreateAnd(ir.CreateLShr(operand, 8 * pair), 0xff));
    } else {
      bits = ir.CreateAnd(ir.CreateLShr(operand, 16 * pair), 0xffff);
    }
    if (n % 2 == 1) bits = ir.CreateLShr(e.Intrinsic(llvm::Intrinsic::bitreverse, {bits}), 16);
  }
  return ir.CreateZExt(bits, ir.getInt64Ty());
}

// The code of an f32, as i32.
llvm::Value* Encode(Emitter& e, const Target& target, llvm::Value* x, llvm::Value* random) {
  auto& ir = e.ir;
  llvm::Type* wide = ir.getInt64Ty();
  const auto larger = [&](llvm::Value* a, uint64_t b) {
    return ir.CreateBinaryIntrinsic(llvm::Intrinsic::umax, a, ir.getInt64(b));
  };
  llvm::Value* bits = AsBits(ir, x);
  llvm::Value* magnitude = ir.CreateZExt(ir.CreateAnd(bits, 0x7fffffff), wide);
  // value = significand * 2^(exponent - 150), of subnormal numbers as well
  llvm::Value* biased = ir.CreateLShr(magnitude, 23);
  llvm::Value* implicit = ir.CreateShl(ir.CreateZExt(ir.CreateIsNotNull(biased), wide), 23);
  llvm::Value* significand = ir.CreateOr(ir.CreateAnd(magnitude, 0x7fffff), implicit);
  llvm::Value* exponent = larger(biased, 1);
  // What has the least exponent of the format or less is counted in its smallest steps.
  const auto least = static_cast<uint64_t>(128 - target.bias);
  llvm::Value* at = larger(exponent, least);
  llvm::Value* drop = ir.CreateAdd(ir.getInt64(23 - target.mantissa), ir.CreateSub(at, exponent));
  // nothing is left
  drop = ir.CreateBinaryIntrinsic(llvm::Intrinsic::umin, drop, ir.getInt64(24 + target.random_bits));
  llvm::Value* added = ir.CreateShl(random, ir.CreateSub(drop, ir.getInt64(target.random_bits)));
  llvm::Value* kept = ir.CreateLShr(ir.CreateAdd(significand, added), drop);
  llvm::Value* code = ir.CreateAdd(ir.CreateShl(ir.CreateSub(at, ir.getInt64(least)), target.mantissa), kept);
  const uint32_t overflow = e.Has(M::kSatfinite) ? target.largest : target.overflow;
  llvm::Value* fits = ir.CreateICmpULE(code, ir.getInt64(target.largest));
  llvm::Value* result = ir.CreateSelect(fits, ir.CreateTrunc(code, ir.getInt32Ty()), ir.getInt32(overflow));
  result = ir.CreateOr(result, ir.CreateShl(ir.CreateLShr(bits, 31), target.sign));
  if (e.Has(M::kRelu)) result = ir.CreateSelect(ir.CreateICmpSLT(bits, ir.getInt32(0)), ir.getInt32(0), result);
  return ir.CreateSelect(IsNan(ir, x), ir.getInt32(target.nan), result);
}

}  // namespace

// cvt.rs{.relu}{.satfinite}.type.f32 d, a, b, random; of four results d, {a, b, e, f}, random, the first uppermost.
void EmitCvtStochastic(Emitter& e) {
  auto& ir = e.ir;
  const Target* target = TargetOf(e.type(0));
  if (target == nullptr || e.type(1) != T::kF32) return e.Invalid("this conversion has no stochastic rounding");
  const bool four = target->results == 4;
  if (four && !e.Has(M::kSatfinite)) return e.Invalid("this conversion needs .satfinite");
  std::vector<const ptx::Operand*> sources = {&e.operand(1), &e.operand(2)};
  if (four) sources = e.Elements(e.operand(1));
  if (sources.size() != target->results) return e.Invalid("another number of sources is needed");
  llvm::Value* random = e.In(four ? 2 : 3, T::kB32);
  llvm::Value* word = ir.getInt32(0);
  for (unsigned i = 0; i < target->results; ++i) {
    const unsigned n = target->results - 1 - i;
    llvm::Value* code = Encode(e, *target, e.Read(*sources[i], T::kF32), RandomBits(e, *target, random, n));
    word = ir.CreateOr(word, ir.CreateShl(code, target->width * n));
  }
  const bool narrow = target->width * target->results == 16;
  e.Out(narrow ? ir.CreateTrunc(word, ir.getInt16Ty()) : word, narrow ? T::kB16 : T::kB32);
}

}  // namespace tutti::compiler::lowering
