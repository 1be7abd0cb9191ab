// Which functions call which, and which module symbols each function mentions. Read-only once made; thread-safe then.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/ast.h"

namespace tutti::compiler::lowering {

class CallGraph {
 public:
  explicit CallGraph(const ptx::Module& module);

  // The functions reachable from `function`, itself first, each once. If any of them calls through a pointer, every
  // address-taken function of the module is among them.
  std::vector<uint32_t> Reach(uint32_t function) const;

  // Module variables that the function's instructions name.
  const std::vector<uint32_t>& variables(uint32_t function) const { return nodes_[function].variables; }
  // Direct callees, one entry per call site.
  const std::vector<uint32_t>& callees(uint32_t function) const { return nodes_[function].callees; }
  bool address_taken(uint32_t function) const { return nodes_[function].address_taken; }
  // The function may call itself, through direct calls.
  bool recursive(uint32_t function) const { return nodes_[function].recursive; }

 private:
  struct Node {
    std::vector<uint32_t> callees;
    std::vector<uint32_t> variables;
    bool calls_indirectly = false;
    bool address_taken = false;
    bool recursive = false;
  };
  void Mention(const ptx::Module& module, Node& node, const ptx::Operand& operand,
               std::vector<const Node*>& mentioned_by);
  void MarkRecursive();

  std::vector<Node> nodes_;
  std::vector<uint32_t> address_taken_;
};

}  // namespace tutti::compiler::lowering
