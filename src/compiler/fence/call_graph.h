// Who calls whom in a module, as far as calls name a function.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/ast.h"

namespace tutti::compiler::fencing {

class CallGraph {
 public:
  explicit CallGraph(const ptx::Module& module);

  // Functions, by their indices, without which there is no recursion: one of each circle at least.
  std::vector<uint32_t> Recursive() const;
  const std::vector<uint32_t>& CallersOf(uint32_t function) const { return callers_[function]; }

 private:
  std::vector<std::vector<uint32_t>> callees_, callers_;  // by function
};

}  // namespace tutti::compiler::fencing
