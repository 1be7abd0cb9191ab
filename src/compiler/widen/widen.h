// From the code of one thread to the code of a warp ("whole-function vectorization").
//
// Takes a module as lower/ makes it (compiler/ir_contract.md) and replaces each function by one that executes 32 lanes
// at once: uniform values stay scalars, the others become vectors of 32, and divergent control flow becomes masks. Adds
// `tutti_kernel`, the descriptor the device looks for (guest/cpu/kernel_abi.h). Functions of the guest runtime are only
// declared, as tutti_*; link them in afterwards.
//
// How: schedule.h (order of blocks and masks), shape.h (what lanes have in common), function_emitter.h (the new code).
#pragma once

#include "base/error.h"
#include "compiler/widen/analysis/options.h"

namespace llvm {
class Module;
}  // namespace llvm

namespace tutti::compiler {

// In place. On failure the module is unusable, and the error says what in which function cannot be widened.
Status Widen(llvm::Module& module, const WidenOptions& options);

}  // namespace tutti::compiler
