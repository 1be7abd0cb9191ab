// Brings the scalar functions into the form that widening takes: one return, no switches, no irreducible loops, each
// loop with one latch and a preheader, values leave loops through phis (LCSSA), the block's shape as constants.
#pragma once

#include "base/error.h"
#include "compiler/widen/analysis/options.h"

namespace llvm {
class Function;
class Module;
}  // namespace llvm

namespace tutti::compiler {

Status PrepareForWidening(llvm::Module& module, const WidenOptions& options);
// Restores what a change of a function's blocks can lose of this: switches, loops.
void MakeCanonical(llvm::Function& function);

}  // namespace tutti::compiler
