#include "compiler/widen/analysis/block_shape.h"

#include <gtest/gtest.h>
#include <llvm/IR/Constants.h>

namespace tutti::compiler {
namespace {

// For every thread of the block: scalar of its warp plus constant of its lane is its coordinate.
void CheckAxes(const uint32_t (&block)[3], unsigned scalar_axes) {
  SCOPED_TRACE(std::to_string(block[0]) + "," + std::to_string(block[1]) + "," + std::to_string(block[2]));
  llvm::LLVMContext context;
  llvm::IRBuilder<> builder(context);
  const BlockShape shape(block);
  unsigned scalar = 0;
  for (unsigned axis = 0; axis < 3; ++axis) {
    const Shape index = shape.IndexShape(axis);
    if (index.is_varying()) continue;
    ++scalar;
    for (uint32_t thread = 0; thread < shape.threads(); ++thread) {
      const uint32_t expected = axis == 0   ? thread % block[0]
                                : axis == 1 ? thread / block[0] % block[1]
                                            : thread / block[0] / block[1];
      const auto* base =
          llvm::cast<llvm::ConstantInt>(shape.IndexBase(builder, axis, builder.getInt32(thread / kLanes)));
      ASSERT_EQ(static_cast<int64_t>(base->getZExtValue()) + index.offset(thread % kLanes), expected)
          << "axis " << axis << " thread " << thread;
      const uint64_t multiple =
          index.is_constant_lanes() ? base->getZExtValue() : base->getZExtValue() % (uint64_t{1} << index.align());
      ASSERT_EQ(multiple, 0u) << "axis " << axis << ": a base is not aligned as promised";
    }
  }
  EXPECT_EQ(scalar, scalar_axes);
}

TEST(BlockShape, CoordinatesAreAScalarOfTheWarpPlusAConstantOfTheLane) {
  CheckAxes({1, 1, 1}, 3);
  CheckAxes({32, 1, 1}, 3);
  CheckAxes({256, 1, 1}, 3);
  CheckAxes({16, 16, 1}, 3);
  CheckAxes({8, 8, 4}, 3);
  CheckAxes({4, 4, 4}, 3);
  CheckAxes({2, 3, 64}, 1);
  CheckAxes({100, 1, 1}, 3);
  CheckAxes({64, 3, 5}, 3);
  CheckAxes({5, 5, 1}, 3);   // one warp
  CheckAxes({24, 4, 1}, 1);  // rows straddle warps: only z is one
  CheckAxes({1, 96, 1}, 3);
}

}  // namespace
}  // namespace tutti::compiler
