// Which elements of a matrix operand each lane holds.
//
// mma multiplies 16 x K by K x 8 (f64: 8 x 4 by 4 x 8). The PTX ISA fixes where its elements lie: with g = lane / 4 and
// t = lane % 4, each 32-bit register of a factor holds `pack` neighbours along K, of a row (A) or column (B) that
// depends on g; the accumulator has rows from g and pairs of columns from t.
//
// wmma leaves the layout of fragments to the implementation. Ours is that of one or two mma, side by side, so that
// wmma.mma becomes mma and the accumulators of all types correspond element by element. The shape m8n32k16 is computed
// as its transpose, with A and B in each other's place.
#pragma once

#include <optional>

#include "compiler/lower/emitter.h"

namespace tutti::compiler::lowering {

// g and t of the lane that executes, as i32.
llvm::Value* GroupId(Emitter& e);
llvm::Value* ThreadInGroup(Emitter& e);

enum class MatrixRole { kLeft, kRight, kAccumulator };  // of the mma, after transposition

struct MmaKind {
  const char* shape;  // "m16n8k16": part of tutti.mma.<shape>....
  uint32_t depth;  // K
  uint32_t pack;  // elements of a factor in one register
  uint32_t element_bits;  // of a factor
  bool eight_rows;  // 8 x 8 results: one group of rows instead of two
  uint32_t left_registers() const { return (eight_rows ? 1 : 2) * right_registers(); }
  uint32_t right_registers() const { return depth / (4 * pack); }
  uint32_t accumulators() const { return eight_rows ? 2 : 4; }  // elements per lane
};

// The mma that multiplies elements of a type in a shape (a modifier like kM16n8k16 or kM16n16k16).
struct WmmaShape {
  MmaKind mma;
  uint32_t m, n, k;
  bool transposed;
  uint32_t left_tiles, right_tiles;  // how many mma fragments make up each factor
};
std::optional<WmmaShape> WmmaShapeOf(const Emitter& e, ptx::Type element);

// Row (A) or column (B), and place along K, of the first element that lane 0 has in register `r` of fragment (tile)
// number `tile` of a factor. Lane l = 4 g + t has the elements that are g further out, and from t * pack on along K.
struct FactorCorner {
  uint32_t outer, inner;
};
FactorCorner CornerOfFactor(const MmaKind& mma, MatrixRole role, uint32_t tile, uint32_t r);

// Row and column, as i32, of an element of the accumulator, 0 .. accumulators() - 1, for the lane that executes.
struct MatrixPosition {
  llvm::Value* outer;
  llvm::Value* inner;
};
MatrixPosition PositionOfAccumulator(Emitter& e, uint32_t left_tile, uint32_t right_tile, uint32_t element);

}  // namespace tutti::compiler::lowering
