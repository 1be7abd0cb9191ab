#include "compiler/lower/matrix_layout.h"

namespace tutti::compiler::lowering {
namespace {

using M = ptx::Modifier;
using T = ptx::Type;

constexpr MmaKind kHalves = {"m16n8k16", 16, 2, 16, false};
constexpr MmaKind kTf32 = {"m16n8k8", 8, 1, 32, false};
constexpr MmaKind kBytes = {"m16n8k16", 16, 4, 8, false};
constexpr MmaKind kDoubles = {"m8n8k4", 4, 1, 64, true};
constexpr MmaKind kNibbles = {"m8n8k32", 32, 8, 4, true};
constexpr MmaKind kBits = {"m8n8k128", 128, 32, 1, true};

}  // namespace

llvm::Value* GroupId(Emitter& e) { return e.ir.CreateLShr(e.CallI32("tutti.laneid"), 2); }
llvm::Value* ThreadInGroup(Emitter& e) { return e.ir.CreateAnd(e.CallI32("tutti.laneid"), 3); }

std::optional<WmmaShape> WmmaShapeOf(const Emitter& e, T element) {
  const bool halves = IsHalf(element);
  const bool bytes = element == T::kS8 || element == T::kU8;
  if (element == T::kF64 && e.Has(M::kM8n8k4)) return WmmaShape{kDoubles, 8, 8, 4, false, 1, 1};
  if (element == T::kTF32 && e.Has(M::kM16n16k8)) return WmmaShape{kTf32, 16, 16, 8, false, 1, 2};
  const bool nibbles = element == T::kS4 || element == T::kU4;
  if (nibbles && e.Has(M::kM8n8k32)) return WmmaShape{kNibbles, 8, 8, 32, false, 1, 1};
  if (element == T::kB1 && e.Has(M::kM8n8k128)) return WmmaShape{kBits, 8, 8, 128, false, 1, 1};
  if (!halves && !bytes) return std::nullopt;
  const MmaKind mma = halves ? kHalves : kBytes;
  if (e.Has(M::kM16n16k16)) return WmmaShape{mma, 16, 16, 16, false, 1, 2};
  if (e.Has(M::kM32n8k16)) return WmmaShape{mma, 32, 8, 16, false, 2, 1};
  if (e.Has(M::kM8n32k16)) return WmmaShape{mma, 8, 32, 16, true, 2, 1};
  return std::nullopt;
}

FactorCorner CornerOfFactor(const MmaKind& mma, MatrixRole role, uint32_t tile, uint32_t r) {
  const bool left = role == MatrixRole::kLeft;
  const uint32_t groups = left && !mma.eight_rows ? 2 : 1;  // of eight rows
  return {tile * (left ? 16 : 8) + 8 * (r % groups), 4 * mma.pack * (r / groups)};
}

MatrixPosition PositionOfAccumulator(Emitter& e, uint32_t left_tile, uint32_t right_tile, uint32_t element) {
  auto& ir = e.ir;
  return {ir.CreateAdd(GroupId(e), ir.getInt32(16 * left_tile + 8 * (element / 2))),
          ir.CreateAdd(ir.CreateShl(ThreadInGroup(e), 1), ir.getInt32(8 * right_tile + element % 2))};
}

}  // namespace tutti::compiler::lowering
