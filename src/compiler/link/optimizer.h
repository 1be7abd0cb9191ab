// The pass pipelines. Kept short: a module is optimised while a launch waits, and one operation of a widened module is
// thirty-two.
#pragma once

#include <cstdint>

#include "base/error.h"

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace tutti::compiler {

// Before widening: one thread's scalar code, where an optimisation costs a thirty-second of what it does afterwards.
// Safe for the convergent intrinsics of ir_contract.md. `optimize` 0 only inlines and builds SSA form.
void OptimizeScalar(llvm::Module& module, llvm::TargetMachine& machine, uint32_t optimize);

// After widening and linking the guest runtime. Inlines the runtime's small functions and drops the unused ones; `optimize` as in -O.
void OptimizeWide(llvm::Module& module, llvm::TargetMachine& machine, uint32_t optimize);

// An error naming the first broken rule of LLVM IR. `stage` is who made the module.
Status VerifyModule(const llvm::Module& module, const char* stage);

}  // namespace tutti::compiler
