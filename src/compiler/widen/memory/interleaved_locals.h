// Local arrays of which all lanes' copies lie side by side, element by element: what one access of all lanes touches is
// then a vector, where the same element of 32 separate copies is a gather, and often one cache set.
//
// It is done in scalar code: the array becomes one for all lanes (InterleaveDistance, local_frame.h), 32 times as
// large, and offsets in it are multiplied by 32. Widening adds the lane's distance to its address. It can be done to
// arrays whose address goes nowhere but into loads and stores that are provably aligned.
#pragma once

#include <llvm/IR/Function.h>

namespace tutti::compiler {

// Of the kernel: called functions have a frame for each call.
void InterleaveLocals(llvm::Function& kernel);

}  // namespace tutti::compiler
