// A loop that a compiler has unrolled, and the one of the rounds that remain, behind it or in front: two loops of one
// block, of loads alone.
#pragma once

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Instructions.h>

#include <optional>

namespace tutti::compiler {

// Each of the two may be left out:
//
//     entry -> before_first -> first -> after_first -> join -> before_second -> second -> after_second -> exit
//       \______________________________________________/  \______________________________________________/
struct TwoLoops {
  llvm::BasicBlock *entry, *before_first, *after_first, *join, *before_second, *after_second, *exit;
  const llvm::Loop *first, *second;
};

// Two that look like it from outside: which is the unrolled one is not known, nor whether they compute alike.
std::optional<TwoLoops> TwoLoopsFrom(const llvm::Loop& first, const llvm::LoopInfo& loops);

// What a phi gets from a loop, by way of the block behind it.
llvm::Value* Behind(const llvm::PHINode& phi, const llvm::BasicBlock* after);

size_t LoadsOf(const llvm::Loop& loop);

// Of a loop of one block: counters that nobody asks any more.
void DropDead(llvm::BasicBlock& loop);

}  // namespace tutti::compiler
