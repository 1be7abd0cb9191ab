// Thread indices of the lanes of a warp, for a block shape known at compile time.
//
// Lane l of warp w is the thread of linear index 32 w + l. Where the block's width divides 32 or is a multiple of it,
// each coordinate is a scalar of the warp plus a constant vector.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "compiler/widen/analysis/shape.h"

namespace tutti::compiler {

class BlockShape {
 public:
  explicit BlockShape(const uint32_t (&block)[3]) : block_{block[0], block[1], block[2]} {}

  bool is_known() const { return threads() != 0; }
  uint64_t threads() const { return uint64_t{block_[0]} * block_[1] * block_[2]; }
  uint32_t extent(unsigned axis) const { return block_[axis]; }
  // Every warp starts with all its lanes.
  bool has_full_warps() const { return is_known() && threads() % kLanes == 0; }

  Shape IndexShape(unsigned axis) const;
  // The base for a shape with bases.
  llvm::Value* IndexBase(llvm::IRBuilder<>& builder, unsigned axis, llvm::Value* warp) const;

 private:
  struct Position {
    bool scalar = false;  // (32 w / divisor) % extent + offset[l]
    uint32_t divisor = 1;
    LaneOffsets offsets{};
    unsigned align = 0;
    bool zero_base = false;
  };
  Position Locate(unsigned axis) const;

  uint32_t block_[3];
};

}  // namespace tutti::compiler
