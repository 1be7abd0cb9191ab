#include "compiler/lower/call_graph.h"

#include <algorithm>
#include <iterator>

namespace tutti::compiler::lowering {
namespace {

bool NamesSymbol(const ptx::Operand& operand) {
  return operand.kind == ptx::OperandKind::kSymbol ||
         (operand.kind == ptx::OperandKind::kAddress && operand.base == ptx::BaseKind::kSymbol);
}

}  // namespace

CallGraph::CallGraph(const ptx::Module& module, const Limits& limits)
    : limits_(limits), nodes_(module.functions.size()) {
  std::vector<const Node*> mentioned_by(module.variables.size());
  for (size_t f = 0; f < module.functions.size(); ++f) {
    const ptx::Function& function = module.functions[f];
    Node& node = nodes_[f];
    node.unit = function.unit;
    node.instructions = function.instructions.size();
    for (const ptx::Instruction& instruction : function.instructions) {
      size_t first = 0;
      if (instruction.opcode == ptx::Opcode::kCall && !instruction.operands.empty()) {
        const ptx::Operand& target = instruction.operands.front();
        first = 1;
        if (target.kind != ptx::OperandKind::kSymbol) {
          node.calls_indirectly = true;
        } else if (target.index < module.symbols.size() &&
                   module.symbols[target.index].kind == ptx::Symbol::Kind::kFunction) {
          node.callees.push_back(module.symbols[target.index].index);
        }
      }
      for (size_t i = first; i < instruction.operands.size(); ++i)
        Mention(module, node, instruction.operands[i], mentioned_by);
    }
    for (const ptx::Operand& operand : function.vector_operands) Mention(module, node, operand, mentioned_by);
  }
  for (const ptx::Variable& variable : module.variables) {
    for (const ptx::Initializer::AddressOf& address : variable.init.addresses) {
      if (address.symbol >= module.symbols.size()) continue;
      const ptx::Symbol& symbol = module.symbols[address.symbol];
      if (symbol.kind == ptx::Symbol::Kind::kFunction) nodes_[symbol.index].address_taken = true;
    }
  }
  for (uint32_t f = 0; f < nodes_.size(); ++f) {
    // A kernel's address is for launching it.
    if (!nodes_[f].address_taken || module.functions[f].is_entry) continue;
    address_taken_.push_back(f);
    taken_instructions_ += nodes_[f].instructions;
  }
  MarkRecursive();
}

void CallGraph::Mention(const ptx::Module& module, Node& node, const ptx::Operand& operand,
                        std::vector<const Node*>& mentioned_by) {
  if (!NamesSymbol(operand) || operand.index >= module.symbols.size()) return;
  const ptx::Symbol& symbol = module.symbols[operand.index];
  if (symbol.kind == ptx::Symbol::Kind::kFunction) {
    nodes_[symbol.index].address_taken = true;
  } else if (mentioned_by[symbol.index] != &node) {
    mentioned_by[symbol.index] = &node;
    node.variables.push_back(symbol.index);
  }
}

// Tarjan's strongly connected components, in linear time: libraries have tens of thousands of functions. A function is
// recursive if its component has others, or if it calls itself. The path is an explicit stack, since a client chooses
// how long it is.
void CallGraph::MarkRecursive() {
  constexpr uint32_t kUnseen = 0, kDone = ~0u;
  struct Step {
    uint32_t function;
    size_t next_call;
  };
  std::vector<uint32_t> order(nodes_.size(), kUnseen), lowest(nodes_.size());
  std::vector<uint32_t> open;  // seen, of components that are not complete
  std::vector<Step> path;
  uint32_t seen = 0;
  const auto enter = [&](uint32_t function) {
    order[function] = lowest[function] = ++seen;
    open.push_back(function);
    path.push_back({function, 0});
  };
  for (uint32_t root = 0; root < nodes_.size(); ++root) {
    if (order[root] == kUnseen) enter(root);
    while (!path.empty()) {
      const uint32_t f = path.back().function;
      const std::vector<uint32_t>& callees = nodes_[f].callees;
      if (path.back().next_call < callees.size()) {
        const uint32_t callee = callees[path.back().next_call++];
        if (callee == f) nodes_[f].recursive = true;
        if (order[callee] == kUnseen) {
          enter(callee);
        } else if (order[callee] != kDone) {
          lowest[f] = std::min(lowest[f], order[callee]);
        }
        continue;
      }
      path.pop_back();
      if (!path.empty()) lowest[path.back().function] = std::min(lowest[path.back().function], lowest[f]);
      if (lowest[f] != order[f]) continue;
      const bool alone = open.back() == f;
      uint32_t member;
      do {
        member = open.back();
        open.pop_back();
        order[member] = kDone;
        if (!alone) nodes_[member].recursive = true;
      } while (member != f);
    }
  }
}

// By their addresses.
std::vector<uint32_t> CallGraph::CallableFrom(uint32_t unit) const {
  if (taken_instructions_ <= limits_.taken) return address_taken_;
  std::vector<uint32_t> functions;
  std::ranges::copy_if(address_taken_, std::back_inserter(functions),
                       [&](uint32_t f) { return nodes_[f].unit == unit; });
  std::ranges::stable_sort(functions, {}, [&](uint32_t f) { return nodes_[f].instructions; });
  uint64_t sum = 0;
  const auto beyond =
      std::ranges::find_if(functions, [&](uint32_t f) { return (sum += nodes_[f].instructions) > limits_.of_unit; });
  functions.erase(beyond, functions.end());
  return functions;
}

std::vector<uint32_t> CallGraph::Reach(uint32_t function) const {
  std::vector<uint32_t> reached = {function};
  std::vector<bool> seen(nodes_.size());
  seen[function] = true;
  const auto add = [&](uint32_t f) {
    if (seen[f]) return;
    seen[f] = true;
    reached.push_back(f);
  };
  bool indirect = false;
  for (size_t i = 0; i < reached.size(); ++i) {
    const Node& node = nodes_[reached[i]];
    for (uint32_t callee : node.callees) add(callee);
    if (node.calls_indirectly && !indirect) {
      indirect = true;
      for (uint32_t taken : CallableFrom(nodes_[function].unit)) add(taken);
    }
  }
  return reached;
}

}  // namespace tutti::compiler::lowering
