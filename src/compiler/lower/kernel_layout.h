// The per-kernel half of the module's layout: parameters, shared and local memory.
#pragma once

#include "base/error.h"
#include "compiler/lower/module_layout.h"

namespace tutti::compiler::lowering {

// All of KernelInfo that does not depend on other functions.
module::KernelInfo DescribeKernel(const ptx::Module& module, uint32_t function);

// Fails (CUDA_ERROR_INVALID_PTX) if the kernel or a function it reaches could not be parsed, or asks for more memory
// than there can be.
Result<KernelLayout> LayOutKernel(const ptx::Module& module, const CallGraph& calls, uint32_t function);

}  // namespace tutti::compiler::lowering
