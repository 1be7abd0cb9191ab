// Which functions call which, and which module symbols each function mentions. Read-only once made; thread-safe then.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/ast.h"

namespace tutti::compiler::lowering {

class CallGraph {
 public:
  // In PTX instructions.
  struct Limits {
    uint64_t taken = 100'000;  // of all address-taken functions, beyond which a kernel is compiled without most of them
    uint64_t of_unit = 17'000;  // of those that it is compiled with then
  };
  explicit CallGraph(const ptx::Module& module, const Limits& limits);
  explicit CallGraph(const ptx::Module& module) : CallGraph(module, Limits{}) {}

  // The functions reachable from `function`, itself first, each once. If any of them calls through a pointer, every
  // address-taken function of the module is among them. If those are too much code to compile, as when a library has
  // one table of all its functions, there are only some of the translation unit that `function` is from: the smallest
  // ones, as many as Limits allow. A call of another one is a fault.
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
    uint32_t unit = 0;
    uint64_t instructions = 0;
  };
  void Mention(const ptx::Module& module, Node& node, const ptx::Operand& operand,
               std::vector<const Node*>& mentioned_by);
  void MarkRecursive();
  std::vector<uint32_t> CallableFrom(uint32_t unit) const;

  const Limits limits_;
  std::vector<Node> nodes_;
  std::vector<uint32_t> address_taken_;
  uint64_t taken_instructions_ = 0;
};

}  // namespace tutti::compiler::lowering
