#include "compiler/fence/local_bounds.h"

#include <algorithm>

namespace tutti::compiler::fencing {

using ptx::Instruction;
using ptx::Operand;
using ptx::OperandKind;

void AddLocalBounds(ptx::Function& function) {
  const auto add = [](std::vector<ptx::LocalVariable>& params) {
    for (const char* name : {"__tutti_low", "__tutti_high"}) {
      params.push_back({.name = name, .space = ptx::StateSpace::kParam, .type = ptx::Type::kB64, .alignment = 8});
    }
  };
  for (ptx::Prototype& prototype : function.prototypes) add(prototype.params);
  if (function.is_entry || !function.has_body) return;
  const auto end = static_cast<uint32_t>(function.first_param + function.prototype.params.size());
  add(function.prototype.params);
  function.locals.insert(function.locals.begin() + end, function.prototype.params.end() - 2,
                         function.prototype.params.end());
  const auto follow = [&](Operand& operand) {
    const bool local = operand.kind == OperandKind::kLocal ||
                       (operand.kind == OperandKind::kAddress && operand.base == ptx::BaseKind::kLocal);
    if (local && operand.index >= end) operand.index += 2;
  };
  for (Instruction& instruction : function.instructions) std::ranges::for_each(instruction.operands, follow);
  std::ranges::for_each(function.vector_operands, follow);
}

}  // namespace tutti::compiler::fencing
