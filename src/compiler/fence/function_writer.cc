#include "compiler/fence/function_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tutti::compiler::fencing {

using M = ptx::Modifier;
using O = ptx::Opcode;
using T = ptx::Type;
using ptx::Instruction;
using ptx::Operand;
using ptx::OperandKind;
using ptx::RegisterId;

FunctionWriter::FunctionWriter(ptx::Function& function) : function_(function) {
  for (const ptx::Label& label : function.labels) names_.push_back(label.name);
}

void FunctionWriter::StandAt(const Instruction& instruction) {
  position_ = instruction.position;
  source_line_ = instruction.source_line;
  source_file_ = instruction.source_file;
}

void FunctionWriter::SortLabels() {
  std::vector<ptx::LabelId> order(function_.labels.size()), place(order.size());
  for (ptx::LabelId i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](ptx::LabelId i) { return function_.labels[i].instruction; });
  std::vector<ptx::Label> sorted;
  for (ptx::LabelId i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    sorted.push_back(function_.labels[order[i]]);
  }
  function_.labels = std::move(sorted);
  const auto follow = [&](Operand& operand) {
    if (operand.kind == OperandKind::kLabel) operand.index = place[operand.index];
  };
  for (Instruction& instruction : function_.instructions) std::ranges::for_each(instruction.operands, follow);
  std::ranges::for_each(function_.vector_operands, follow);
  for (auto& targets : function_.branch_targets) {
    for (ptx::LabelId& label : targets) label = place[label];
  }
}

RegisterId FunctionWriter::NewRegister(const char* name, T type) {
  std::string unique = fmt::format("%tutti_{}", name);
  const auto taken = [&] {
    return std::ranges::any_of(function_.registers, [&](const auto& r) { return r.name == unique; });
  };
  for (int i = 1; taken(); ++i) unique = fmt::format("%tutti_{}_{}", name, i);
  function_.registers.push_back({unique, type});
  return static_cast<RegisterId>(function_.registers.size() - 1);
}

RegisterId FunctionWriter::Temporary(const char* name, T type) {
  const auto [found, made] = temporaries_.try_emplace(name, 0);
  if (made) found->second = NewRegister(name, type);
  return found->second;
}

ptx::LabelId FunctionWriter::NewLabel() {
  std::string name;
  do {
    name = fmt::format("$tutti_{}", next_label_++);
  } while (std::ranges::find(names_, name) != names_.end());
  function_.labels.push_back({name, 0});
  return static_cast<ptx::LabelId>(function_.labels.size() - 1);
}

Instruction& FunctionWriter::Emit(O opcode, std::initializer_list<M> modifiers, std::initializer_list<T> types,
                                  std::vector<Operand> operands) {
  Instruction instruction;
  instruction.opcode = opcode;
  for (const M modifier : modifiers) instruction.modifiers.push_back(modifier);
  for (const T type : types) instruction.types.push_back(type);
  instruction.operands = std::move(operands);
  instruction.position = position_;
  instruction.source_line = source_line_;
  instruction.source_file = source_file_;
  made_.push_back(std::move(instruction));
  return made_.back();
}

void FunctionWriter::EmitMove(RegisterId to, Operand from) { Emit(O::kMov, {}, {T::kU64}, {Register(to), from}); }
void FunctionWriter::EmitCall(ptx::SymbolId target, std::vector<Operand> arguments) {
  const auto count = static_cast<uint32_t>(arguments.size());
  arguments.insert(arguments.begin(), Symbol(target));
  Emit(O::kCall, {}, {}, std::move(arguments)).call_arguments = count;
}

}  // namespace tutti::compiler::fencing
