// Loops in which each round reads far from where the round before has read: threads side by side walk down the columns
// of a matrix, the planes of a volume, or go through an array in steps of the whole grid.
//
//   for (k = 0; k < n; ++k) sum += a[k * width + column];
//
// A warp that makes all its rounds first leaves a trail of lines that the caches cannot keep: their distance is often a
// power of two, and a prefetcher sees a stream for each round. The next warp wants the lines beside them, and the
// neighbours' rows of a stencil are the same lines. So warps should make each round together. Where they do not wait
// for each other anyway, that is nothing but a place in the loop at which they take turns; lockstep.h cuts the kernel
// there, as it does at barriers. What each round then reads is near what other warps read in it, but far from the round
// before, so it asks for what the warp accesses in the next one: a prefetch, which reads nothing and cannot fault,
// wherever it points.
//
// Where all warps of the block read the same, as the columns of a matrix product, they find it in the cache as it is.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <cstdint>

namespace tutti::compiler {

bool HasColumnWalks(llvm::Function& warp);

// Inserts a call at the beginning of each round of such loops, which does nothing: a mark.
llvm::SmallVector<llvm::CallInst*, 8> MarkColumnWalks(llvm::Function& warp, uint32_t param_bytes);

bool IsMark(const llvm::CallInst& call);
void EraseMarks(llvm::ArrayRef<llvm::CallInst*> marks);
void EraseMark(llvm::Module& module);  // when no calls are left

}  // namespace tutti::compiler
