// Who calls whom in a module: what calls name, and what a call by a function's number may find (FunctionNumber).
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/ast.h"

namespace tutti::compiler::fencing {

// What a program has in place of a function's address where there is none to be had; never 0. Another module, or the
// same one as it is loaded again, gives a function of that name the same.
uint64_t FunctionNumber(const ptx::Function& function);

// Those of the functions that a call by a number may be of: with its parameters. Without a prototype none.
std::vector<uint32_t> TargetsOf(const ptx::Module& module, const ptx::Function& caller, const ptx::Instruction& call,
                                const std::vector<uint32_t>& numbered);

class CallGraph {
 public:
  // `numbered`: functions that are called by their numbers, too.
  CallGraph(const ptx::Module& module, const std::vector<uint32_t>& numbered);

  // Functions, by their indices, without which there is no recursion: one of each circle at least.
  std::vector<uint32_t> Recursive() const;
  const std::vector<uint32_t>& CallersOf(uint32_t function) const { return callers_[function]; }

 private:
  std::vector<std::vector<uint32_t>> callees_, callers_;  // by function
};

}  // namespace tutti::compiler::fencing
