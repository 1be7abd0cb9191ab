// The shape of an instruction's result, from the shapes of its operands: one rule per kind of operation.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/DataLayout.h>

#include "compiler/widen/analysis/shape.h"

namespace tutti::compiler {

using ShapeLookup = llvm::function_ref<const Shape&(const llvm::Value*)>;

// For elementwise operations: arithmetic, comparisons, selects, casts, addresses, parts of aggregates, LLVM's
// elementwise intrinsics. Unknown if an operand is.
Shape ElementwiseShape(const llvm::Instruction& instruction, const llvm::DataLayout& layout, ShapeLookup shape_of);

// A load by every lane from an address of this shape.
Shape LoadShape(const llvm::LoadInst& load, const Shape& address);

// `current` lowered so that it covers `incoming` too; for a phi whose lanes all come from one predecessor at a time.
// The offsets are those of the first incoming value known, so that repeated lowering ends.
Shape MeetShapes(const Shape& current, const Shape& incoming, const llvm::Type* type);

// This operand of a linear operation is added to the offsets, not to the base: constants leave the base's alignment
// alone.
bool BelongsToOffsets(const llvm::Instruction& instruction, const llvm::Value* operand);

// Of a constant.
Shape ConstantShape(const llvm::Constant& constant);

// Intrinsics of LLVM that work on each element alone.
bool IsElementwiseIntrinsic(const llvm::CallInst& call);

}  // namespace tutti::compiler
