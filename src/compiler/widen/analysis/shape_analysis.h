// Shapes of all values of a function, and its schedule. Both are computed at once, since divergent branches make values
// vary and varying conditions make branches diverge: an optimistic fixpoint that starts from "everything is uniform".
#pragma once

#include <llvm/ADT/DenseMap.h>

#include "compiler/widen/analysis/block_shape.h"
#include "compiler/widen/analysis/schedule.h"
#include "compiler/widen/analysis/shape.h"

namespace tutti::compiler {

class ShapeAnalysis {
 public:
  // `frame_bytes`: distance between two lanes' copies of an alloca. Updates `schedule` with the divergent branches
  // found.
  ShapeAnalysis(const llvm::Function& function, const BlockShape& block, uint64_t frame_bytes, Schedule& schedule);

  const Shape& Of(const llvm::Value* value) const;
  // The block ends in a divergent branch.
  bool IsDivergent(const llvm::BasicBlock& block) const;

 private:
  bool Lower(Schedule& schedule);
  Shape Compute(const llvm::Instruction& instruction, const Schedule& schedule) const;
  static Shape LocalAddress(uint64_t distance);
  Shape ComputeCall(const llvm::CallInst& call) const;

  const llvm::DataLayout& layout_;
  const BlockShape& block_;
  uint64_t frame_bytes_;
  llvm::DenseMap<const llvm::Value*, Shape> shapes_;
  mutable llvm::DenseMap<const llvm::Constant*, std::unique_ptr<Shape>> constants_;
};

}  // namespace tutti::compiler
