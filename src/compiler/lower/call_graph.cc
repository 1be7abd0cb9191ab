#include "compiler/lower/call_graph.h"

#include <algorithm>

namespace tutti::compiler::lowering {
namespace {

void InsertOnce(std::vector<uint32_t>& list, uint32_t value) {
  if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
}

bool NamesSymbol(const ptx::Operand& operand) {
  return operand.kind == ptx::OperandKind::kSymbol ||
         (operand.kind == ptx::OperandKind::kAddress && operand.base == ptx::BaseKind::kSymbol);
}

}  // namespace

CallGraph::CallGraph(const ptx::Module& module) : nodes_(module.functions.size()) {
  for (size_t f = 0; f < module.functions.size(); ++f) {
    const ptx::Function& function = module.functions[f];
    Node& node = nodes_[f];
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
      for (size_t i = first; i < instruction.operands.size(); ++i) Mention(module, node, instruction.operands[i]);
    }
    for (const ptx::Operand& operand : function.vector_operands) Mention(module, node, operand);
  }
  for (const ptx::Variable& variable : module.variables) {
    for (const ptx::Initializer::AddressOf& address : variable.init.addresses) {
      if (address.symbol >= module.symbols.size()) continue;
      const ptx::Symbol& symbol = module.symbols[address.symbol];
      if (symbol.kind == ptx::Symbol::Kind::kFunction) nodes_[symbol.index].address_taken = true;
    }
  }
  for (uint32_t f = 0; f < nodes_.size(); ++f) {
    if (nodes_[f].address_taken) address_taken_.push_back(f);
    nodes_[f].recursive = Reaches(f, f);
  }
}

void CallGraph::Mention(const ptx::Module& module, Node& node, const ptx::Operand& operand) {
  if (!NamesSymbol(operand) || operand.index >= module.symbols.size()) return;
  const ptx::Symbol& symbol = module.symbols[operand.index];
  if (symbol.kind == ptx::Symbol::Kind::kFunction) {
    nodes_[symbol.index].address_taken = true;
  } else {
    InsertOnce(node.variables, symbol.index);
  }
}

bool CallGraph::Reaches(uint32_t from, uint32_t target) const {
  std::vector<bool> seen(nodes_.size());
  std::vector<uint32_t> work = nodes_[from].callees;
  while (!work.empty()) {
    const uint32_t next = work.back();
    work.pop_back();
    if (next == target) return true;
    if (seen[next]) continue;
    seen[next] = true;
    work.insert(work.end(), nodes_[next].callees.begin(), nodes_[next].callees.end());
  }
  return false;
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
      for (uint32_t taken : address_taken_) add(taken);
    }
  }
  return reached;
}

}  // namespace tutti::compiler::lowering
