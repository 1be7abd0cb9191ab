// The objects a kernel's shared object exports: KernelDescriptor and what it points to.
#pragma once

#include "compiler/widen/emit/module_state.h"

namespace tutti::compiler {

// `warp`: the widened kernel, void(WarpState*) or void(WarpState*, BlockState*).
void EmitKernelDescriptor(ModuleState& state, llvm::Function& warp);

}  // namespace tutti::compiler
