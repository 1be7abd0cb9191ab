#include "compiler/widen/analysis/block_shape.h"

#include <bit>

namespace tutti::compiler {

// With d the number of threads per step of the axis (1, bx, bx*by) and e its extent, the coordinate is ((32 w + l) / d)
// % e. Three cases have the form of a scalar plus a constant:
//   e is 1: zero. A single warp: constants alone.
//   32 | d: all lanes have the same coordinate.
//   d | 32, with s = 32 / d steps per warp: 32w/d = s w is a multiple of s, so that (s w + l/d) % e is
//     (s w) % e + l/d if s | e, and (l/d) % e if e | s.
BlockShape::Position BlockShape::Locate(unsigned axis) const {
  Position position;
  if (!is_known()) return position;
  uint64_t step = 1;
  for (unsigned lower = 0; lower < axis; ++lower) step *= block_[lower];
  const uint64_t extent = block_[axis];
  const auto lane_steps = [&](uint64_t modulus) {
    for (unsigned lane = 0; lane < kLanes; ++lane) position.offsets[lane] = static_cast<int64_t>(lane / step % modulus);
  };
  const bool last = step * extent == threads();  // no division remainder to take: indices stay below the extent
  if (extent == 1 || threads() <= kLanes) {
    position.scalar = position.zero_base = true;
    if (extent != 1) lane_steps(extent);
  } else if (step % kLanes == 0) {
    position.scalar = true;
    position.divisor = static_cast<uint32_t>(step);
  } else if (kLanes % step == 0) {
    const uint64_t steps = kLanes / step;
    if (extent % steps == 0 || last) {
      position.scalar = true;
      position.divisor = static_cast<uint32_t>(step);
      position.align = static_cast<unsigned>(std::countr_zero(steps));
      lane_steps(kLanes);
    } else if (steps % extent == 0) {
      position.scalar = position.zero_base = true;
      lane_steps(extent);
    }
  }
  return position;
}

Shape BlockShape::IndexShape(unsigned axis) const {
  const Position position = Locate(axis);
  if (!position.scalar) return Shape::Varying();
  Shape shape = Shape::Uniform(BaseRule::kSource);
  shape.set_offsets(position.offsets, 32);
  shape.set_align(position.zero_base ? Shape::kZeroBase : position.align);
  return shape;
}

llvm::Value* BlockShape::IndexBase(llvm::IRBuilder<>& builder, unsigned axis, llvm::Value* warp) const {
  const Position position = Locate(axis);
  if (position.zero_base) return builder.getInt32(0);
  llvm::Value* linear = builder.CreateShl(warp, 5, "", true, true);
  llvm::Value* index = builder.CreateUDiv(linear, builder.getInt32(position.divisor));
  return builder.CreateURem(index, builder.getInt32(block_[axis]));
}

}  // namespace tutti::compiler
