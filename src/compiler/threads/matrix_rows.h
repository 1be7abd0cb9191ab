// Loads of matrices of which each lane names a row (ldmatrix), as a thread does its part of them: it asks the lanes
// where their rows begin.
//
//     m = tutti.matrix_rows.along.x1(row)   =>   begin = tutti.shfl.idx(all, row, lane / 4)
//                                                m = load begin + 4 * (lane % 4)
#pragma once

#include <llvm/IR/Function.h>

namespace tutti::compiler {

void ExpandMatrixRows(llvm::Function& kernel);

}  // namespace tutti::compiler
