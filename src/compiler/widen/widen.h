// From the code of one thread to the code of a warp.
//
// Takes a module as lower/ makes it (compiler/ir_contract.md) and replaces each function of it by one that executes 32
// lanes at once: values that are equal in all lanes stay scalars, the others become vectors of 32, and control flow
// that lanes disagree on becomes masks. Adds `tutti_kernel`, the descriptor the device looks for
// (guest/cpu/kernel_abi.h). What the result needs of the guest runtime it declares as tutti_* functions; link them in
// afterwards.
//
// How: schedule.h (order of blocks and masks), shape.h (what lanes have in common), function_emitter.h (the new code).
#pragma once

#include "base/error.h"
#include "compiler/widen/analysis/options.h"

namespace llvm {
class Module;
}  // namespace llvm

namespace tutti::compiler {

// In place. On failure the module is spoilt, and the text says what in which function cannot be widened.
Status Widen(llvm::Module& module, const WidenOptions& options);

}  // namespace tutti::compiler
