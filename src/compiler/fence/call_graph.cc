#include "compiler/fence/call_graph.h"

#include <cstddef>

namespace tutti::compiler::fencing {

CallGraph::CallGraph(const ptx::Module& module) : callees_(module.functions.size()), callers_(module.functions.size()) {
  for (uint32_t caller = 0; caller < module.functions.size(); ++caller) {
    for (const ptx::Instruction& instruction : module.functions[caller].instructions) {
      if (instruction.opcode != ptx::Opcode::kCall) continue;
      const ptx::Operand& target = instruction.operands[0];
      if (target.kind != ptx::OperandKind::kSymbol) continue;
      const uint32_t callee = module.symbols[target.index].index;
      callees_[caller].push_back(callee);
      callers_[callee].push_back(caller);
    }
  }
}

// In the depth, without recursion of our own: a module may have a chain of any length.
std::vector<uint32_t> CallGraph::Recursive() const {
  enum class State : uint8_t { kNew, kOpen, kOver };
  struct Step {
    uint32_t function;
    size_t next;  // of its callees
  };
  std::vector<State> states(callees_.size(), State::kNew);
  std::vector<uint32_t> found;
  std::vector<Step> path;
  for (uint32_t root = 0; root < callees_.size(); ++root) {
    if (states[root] != State::kNew) continue;
    states[root] = State::kOpen;
    path.push_back({root, 0});
    while (!path.empty()) {
      const uint32_t function = path.back().function;
      if (path.back().next == callees_[function].size()) {
        states[function] = State::kOver;
        path.pop_back();
        continue;
      }
      const uint32_t callee = callees_[function][path.back().next++];
      if (states[callee] == State::kOpen) found.push_back(callee);
      if (states[callee] != State::kNew) continue;
      states[callee] = State::kOpen;
      path.push_back({callee, 0});
    }
  }
  return found;
}

}  // namespace tutti::compiler::fencing
