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

// `current` lowered to cover `incoming`; for a phi whose lanes all come from one predecessor at a time. Keeps the
// offsets of the first known incoming value, so that the fixpoint terminates.
Shape MeetShapes(const Shape& current, const Shape& incoming, const llvm::Type* type);

// This operand of a linear operation is added to the offsets and not to the base, which keeps its alignment.
bool BelongsToOffsets(const llvm::Instruction& instruction, const llvm::Value* operand);

// The shape of a constant.
Shape ConstantShape(const llvm::Constant& constant);

// LLVM intrinsics that work on each element alone.
bool IsElementwiseIntrinsic(const llvm::CallInst& call);

}  // namespace tutti::compiler
