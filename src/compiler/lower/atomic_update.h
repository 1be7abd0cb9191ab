// Read-modify-write of memory for updates that LLVM has no operation for.
#pragma once

#include <functional>

#include "compiler/lower/emitter.h"

namespace tutti::compiler::lowering {

// Atomically replaces *pointer, an integer of `type`, by update(old); returns old. A compare-exchange loop.
llvm::Value* UpdateAtomically(Emitter& e, llvm::Value* pointer, llvm::Type* type, llvm::AtomicOrdering ordering,
                              const std::function<llvm::Value*(llvm::Value* old)>& update);

// Applies the operation that the instruction names (.add, .min, ...) to *pointer; returns the old value.
llvm::Value* UpdateByOperation(Emitter& e, llvm::Value* pointer, llvm::Value* operand, ptx::Type type);

// The ordering that the instruction's .sem asks of an atomic operation; relaxed if it has none.
llvm::AtomicOrdering AtomicOrderOf(const Emitter& e);

}  // namespace tutti::compiler::lowering
