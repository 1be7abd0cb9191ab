// Makes called functions a part of their caller, recursive ones too.
#pragma once

#include <llvm/ADT/ArrayRef.h>

namespace llvm {
class Function;
}

namespace tutti::compiler {

// Moves the body of each of `functions` into `kernel`, once; calls of them, from the kernel or from one another, become
// jumps. They are called by name, and from nowhere else. They are gone afterwards.
void MergeCalls(llvm::Function& kernel, llvm::ArrayRef<llvm::Function*> functions);

}  // namespace tutti::compiler
