#include "compiler/fence/call_graph.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <string>

#include "compiler/fence/call_gates.h"

namespace tutti::compiler::fencing {

uint64_t FunctionNumber(const ptx::Function& function) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : function.name) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash | 1;
}

std::vector<uint32_t> TargetsOf(const ptx::Module& module, const ptx::Function& caller, const ptx::Instruction& call,
                                const std::vector<uint32_t>& numbered) {
  std::vector<uint32_t> targets;
  if (call.prototype == ~0u) return targets;
  std::ranges::copy_if(numbered, std::back_inserter(targets), [&](uint32_t index) {
    const ptx::Function& function = module.functions[index];
    return !function.is_entry && HaveSameShape(function.prototype, caller.prototypes[call.prototype]);
  });
  return targets;
}

CallGraph::CallGraph(const ptx::Module& module, const std::vector<uint32_t>& numbered)
    : callees_(module.functions.size()), callers_(module.functions.size()) {
  const auto add = [this](uint32_t caller, uint32_t callee) {
    callees_[caller].push_back(callee);
    callers_[callee].push_back(caller);
  };
  for (uint32_t caller = 0; caller < module.functions.size(); ++caller) {
    std::set<uint32_t> by_number;  // prototypes
    for (const ptx::Instruction& instruction : module.functions[caller].instructions) {
      if (instruction.opcode != ptx::Opcode::kCall) continue;
      const ptx::Operand& target = instruction.operands[0];
      if (target.kind == ptx::OperandKind::kSymbol) {
        add(caller, module.symbols[target.index].index);
        continue;
      }
      if (!by_number.insert(instruction.prototype).second) continue;  // with many calls it has no more callees
      for (const uint32_t callee : TargetsOf(module, module.functions[caller], instruction, numbered))
        add(caller, callee);
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
