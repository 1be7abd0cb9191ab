#include "compiler/fence/local_bounds.h"

#include <algorithm>

namespace tutti::compiler::fencing {

using ptx::Instruction;
using ptx::Operand;
using ptx::OperandKind;

namespace {

void Append(std::vector<ptx::LocalVariable>& parameters, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    parameters.push_back({.name = name, .space = ptx::StateSpace::kParam, .type = ptx::Type::kB64, .alignment = 8});
  }
}

}  // namespace

void AddParameters(ptx::Function& function, std::initializer_list<const char*> names) {
  const auto count = static_cast<uint32_t>(names.size());
  const auto end = static_cast<uint32_t>(function.first_param + function.prototype.params.size());
  Append(function.prototype.params, names);
  function.locals.insert(function.locals.begin() + end, function.prototype.params.end() - count,
                         function.prototype.params.end());
  const auto follow = [&](Operand& operand) {
    const bool local = operand.kind == OperandKind::kLocal ||
                       (operand.kind == OperandKind::kAddress && operand.base == ptx::BaseKind::kLocal);
    if (local && operand.index >= end) operand.index += count;
  };
  for (Instruction& instruction : function.instructions) std::ranges::for_each(instruction.operands, follow);
  std::ranges::for_each(function.vector_operands, follow);
}

void AddLocalBounds(ptx::Function& function) {
  const auto bounds = {"__tutti_low", "__tutti_high"};
  for (ptx::Prototype& prototype : function.prototypes) Append(prototype.params, bounds);
  if (!function.is_entry && function.has_body) AddParameters(function, bounds);
}

}  // namespace tutti::compiler::fencing
