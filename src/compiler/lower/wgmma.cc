// wgmma: a group of four warps multiplies matrices in shared memory, asynchronously.
//
// Each warp computes its rows at once, when it comes to the instruction, so committing groups and ordering registers
// (wgmma.fence) are no-ops. Waiting is not: behind it any one thread may say that the group has read its operands, and
// let others overwrite them, so a warp may not leave wait_group before all four have come there.
#include <fmt/format.h>

#include "compiler/lower/families.h"
#include "compiler/lower/integer.h"
#include "compiler/lower/matrix_product.h"
#include "compiler/runtime/warp_group_request.h"

namespace tutti::compiler::lowering {
namespace {

using M = ptx::Modifier;
using T = ptx::Type;
namespace runtime = guest_runtime;

struct Shape {
  uint32_t columns = 0, depth = 0;
};
#define TUTTI_PTX_WGMMA_SHAPE(n) \
  {M::kM64n##n##k8, {n, 8}}, {M::kM64n##n##k16, {n, 16}}, {M::kM64n##n##k32, {n, 32}}, { M::kM64n##n##k256, {n, 256} }
struct ShapeRow {
  M modifier;
  Shape shape;
};
constexpr ShapeRow kShapes[] = {
    TUTTI_PTX_WGMMA_SHAPE(8),   TUTTI_PTX_WGMMA_SHAPE(16),  TUTTI_PTX_WGMMA_SHAPE(24),  TUTTI_PTX_WGMMA_SHAPE(32),
    TUTTI_PTX_WGMMA_SHAPE(40),  TUTTI_PTX_WGMMA_SHAPE(48),  TUTTI_PTX_WGMMA_SHAPE(56),  TUTTI_PTX_WGMMA_SHAPE(64),
    TUTTI_PTX_WGMMA_SHAPE(72),  TUTTI_PTX_WGMMA_SHAPE(80),  TUTTI_PTX_WGMMA_SHAPE(88),  TUTTI_PTX_WGMMA_SHAPE(96),
    TUTTI_PTX_WGMMA_SHAPE(104), TUTTI_PTX_WGMMA_SHAPE(112), TUTTI_PTX_WGMMA_SHAPE(120), TUTTI_PTX_WGMMA_SHAPE(128),
    TUTTI_PTX_WGMMA_SHAPE(136), TUTTI_PTX_WGMMA_SHAPE(144), TUTTI_PTX_WGMMA_SHAPE(152), TUTTI_PTX_WGMMA_SHAPE(160),
    TUTTI_PTX_WGMMA_SHAPE(168), TUTTI_PTX_WGMMA_SHAPE(176), TUTTI_PTX_WGMMA_SHAPE(184), TUTTI_PTX_WGMMA_SHAPE(192),
    TUTTI_PTX_WGMMA_SHAPE(200), TUTTI_PTX_WGMMA_SHAPE(208), TUTTI_PTX_WGMMA_SHAPE(216), TUTTI_PTX_WGMMA_SHAPE(224),
    TUTTI_PTX_WGMMA_SHAPE(232), TUTTI_PTX_WGMMA_SHAPE(240), TUTTI_PTX_WGMMA_SHAPE(248), TUTTI_PTX_WGMMA_SHAPE(256),
};
#undef TUTTI_PTX_WGMMA_SHAPE

Shape ShapeOf(const Emitter& e) {
  for (const ShapeRow& row : kShapes) {
    if (e.Has(row.modifier)) return row.shape;
  }
  return {};
}

// Types that the runtime multiplies, and the depth of their instruction.
bool AreTypes(const Emitter& e, T sum, T left, T right, uint32_t depth) {
  const auto is_byte_float = [](T type) { return type == T::kE4M3 || type == T::kE5M2; };
  const auto is_byte = [](T type) { return type == T::kS8 || type == T::kU8; };
  if (is_byte_float(left) && is_byte_float(right)) return depth == 32 && (sum == T::kF32 || sum == T::kF16);
  if (is_byte(left) && is_byte(right)) return depth == 32 && sum == T::kS32;
  if (left != right) return false;
  switch (left) {
    case T::kF16: return depth == 16 && (sum == T::kF32 || sum == T::kF16);
    case T::kBF16: return depth == 16 && sum == T::kF32;
    case T::kTF32: return depth == 8 && sum == T::kF32;
    case T::kB1: return depth == 256 && sum == T::kS32 && e.Has(M::kAnd) && e.Has(M::kPopc);
    default: return false;
  }
}

bool IsImmediate(const ptx::Operand& operand, int64_t value) {
  return operand.kind == ptx::OperandKind::kImmediate && !operand.is_float &&
         static_cast<int32_t>(operand.bits) == value;
}

// The immediates behind scale-d: signs of A and B, then whether A (if in memory) and B are stored across.
bool ReadImmediates(Emitter& e, T left, bool in_registers, uint32_t* request) {
  const bool has_signs = left != T::kS8 && left != T::kU8 && left != T::kB1;
  const size_t across = left == T::kF16 || left == T::kBF16 ? (in_registers ? 1 : 2) : 0, first = 4;
  if (e.operands() != first + (has_signs ? 2 : 0) + across)
    return e.Invalid("another number of operands is needed"), false;
  for (size_t i = 0; has_signs && i < 2; ++i) {
    if (IsImmediate(e.operand(first + i), -1)) {
      *request ^= runtime::kNegates;
    } else if (!IsImmediate(e.operand(first + i), 1)) {
      return e.Invalid("a scale is 1 or -1"), false;
    }
  }
  for (size_t i = 0; i < across; ++i) {
    const ptx::Operand& flag = e.operand(first + 2 + i);
    if (IsImmediate(flag, 1)) {
      *request |= i + 1 == across ? runtime::kRightIsAcross : runtime::kLeftIsAcross;
    } else if (!IsImmediate(flag, 0)) {
      return e.Invalid("a transposition is 0 or 1"), false;
    }
  }
  return true;
}

// wgmma.mma_async.sync.aligned.shape{.satfinite}.dtype.atype.btype{.and.popc} d, a, b-desc, scale-d{, ...}: A is a
// descriptor or four registers.
void MultiplyAsync(Emitter& e) {
  auto& ir = e.ir;
  if (e.Has(M::kSp)) return e.Refuse("sparse matrices are not supported");
  if (e.instruction().types.size() != 3 || e.operands() < 4) return e.Invalid("wgmma with another number of types");
  const Shape shape = ShapeOf(e);
  const T sum = e.type(0), left = e.type(1), right = e.type(2);
  if (shape.columns == 0 || !AreTypes(e, sum, left, right, shape.depth)) return e.Invalid("no such product");
  const auto targets = e.Elements(e.operand(0));
  const uint32_t registers = shape.columns / (sum == T::kF16 ? 4 : 2);
  if (targets.size() != registers) return e.Invalid("the accumulator has another number of registers");
  const bool in_registers = e.operand(1).kind == ptx::OperandKind::kVector;
  uint32_t request = shape.columns | (in_registers ? uint32_t{runtime::kLeftInRegisters} : 0);
  if (!ReadImmediates(e, left, in_registers, &request)) return;

  std::vector<llvm::Value*> factor(4, ir.getInt32(0));
  if (in_registers) factor = ReadAll(e, 1, T::kB32);
  if (factor.size() != 4) return e.Invalid("a matrix in registers has four");
  llvm::Value* keeps = e.In(3, T::kPred);
  const bool clamps = e.Has(M::kSatfinite);
  if (clamps && sum != T::kS32) return e.Invalid("floats are not clamped");
  const T accumulator = sum == T::kF16 ? T::kB32 : sum;
  const std::vector<llvm::Value*> sums = ReadAll(e, 0, accumulator);

  std::vector<llvm::Value*> arguments = {ir.getInt32(request), clamps ? ir.getFalse() : keeps,
                                         in_registers ? ir.getInt64(0) : e.In(1, T::kB64), e.In(2, T::kB64)};
  arguments.insert(arguments.end(), factor.begin(), factor.end());
  arguments.insert(arguments.end(), sums.begin(), sums.end());
  std::vector<llvm::Type*> types(registers, sums.front()->getType());
  const std::string name =
      fmt::format("n{}.{}.{}.{}", shape.columns, ptx::NameOf(sum), ptx::NameOf(left), ptx::NameOf(right));
  llvm::Value* result =
      e.Call("tutti.wgmma.", name, llvm::StructType::get(e.context(), types), arguments, Effect::kWarpLoad);
  for (unsigned i = 0; i < registers; ++i) {
    llvm::Value* value = ir.CreateExtractValue(result, i);
    if (clamps) value = ir.CreateSelect(keeps, SaturatingAddSub(ir, value, sums[i], false), value);
    e.Write(*targets[i], value, accumulator);
  }
}

}  // namespace

void EmitWgmma(Emitter& e) {
  if (!e.Has(M::kAligned)) return e.Invalid("the threads of a warp execute wgmma together: .aligned is missing");
  if (e.Has(M::kMmaAsync)) return MultiplyAsync(e);
  if (e.Has(M::kWaitGroup)) {
    e.Call("tutti.warp_group_barrier", e.ir.getVoidTy(), {}, Effect::kBarrier);
  } else if (!e.Has(M::kFence) && !e.Has(M::kCommitGroup)) {
    e.Refuse("this operation of warp groups is not supported");
  }
}

}  // namespace tutti::compiler::lowering
