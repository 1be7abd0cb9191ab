// The scalar pass pipeline: from registers in allocas to what widening gets.
#pragma once

#include "compiler/lower/llvm.h"

namespace tutti::compiler::lowering {

void Optimize(llvm::Module& module);

}  // namespace tutti::compiler::lowering
