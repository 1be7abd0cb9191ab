// The pass pipeline of widened modules. Kept short: a module is optimised while a launch waits, and one operation of a
// widened module is 32. (Scalar code was optimised before widening, by lower/optimize.h.)
#pragma once

#include <cstdint>

#include "base/error.h"

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace tutti::compiler {

// After widening and linking the guest runtime. Inlines the runtime's small functions and drops the unused ones;
// `optimize` as in -O.
void OptimizeWide(llvm::Module& module, llvm::TargetMachine& machine, uint32_t optimize);

// An error naming the first violated rule of LLVM IR. `stage` names what made the module.
Status VerifyModule(const llvm::Module& module, const char* stage);

}  // namespace tutti::compiler
