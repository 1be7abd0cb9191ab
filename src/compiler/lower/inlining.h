// Decides which device functions are inlined into their callers.
#pragma once

#include <functional>
#include <vector>

#include "compiler/lower/call_graph.h"
#include "compiler/lower/llvm.h"
#include "ptx/ast.h"

namespace tutti::compiler::lowering {

// Marks functions alwaysinline that are neither recursive nor address-taken. Inlining everything is best for widening,
// which then sees the whole kernel; but call trees grow exponentially, so a function whose fully inlined body is large
// stays a call.
void MarkInlining(const ptx::Module& source, const CallGraph& calls, const std::vector<uint32_t>& functions,
                  const std::function<llvm::Function*(uint32_t)>& ir_function);

}  // namespace tutti::compiler::lowering
