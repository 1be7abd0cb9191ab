// Makes called functions a part of their caller, recursive ones too.
#pragma once

#include <llvm/ADT/ArrayRef.h>

namespace llvm {
class Function;
}

namespace tutti::compiler {

// Puts the body of each of `functions` into `kernel`, once; calls of them, wherever they stand in the kernel or in one
// of them, become jumps. Each is called from there by name, and from nowhere else. They are gone afterwards.
void MergeCalls(llvm::Function& kernel, llvm::ArrayRef<llvm::Function*> functions);

}  // namespace tutti::compiler
