// The objects a kernel's shared object exports: KernelDescriptor and what it points to.
#pragma once

#include "base/error.h"
#include "compiler/widen/emit/module_state.h"

namespace tutti::compiler {

// Fails if the kernel's local memory is more than a descriptor may ask for. To be asked before code is emitted: what is
// proved to be inside its array is not checked there. Inlining makes copies of the arrays of functions.
Status CheckLocalMemory(const ModuleState& state);

// `warp`: the widened kernel, void(WarpState*) or void(WarpState*, BlockState*).
void EmitKernelDescriptor(ModuleState& state, llvm::Function& warp);

}  // namespace tutti::compiler
