#include "compiler/lower/emitter.h"

namespace tutti::compiler::lowering {

std::string FormOf(const ptx::Instruction& instruction) {
  std::string form(ptx::NameOf(instruction.opcode));
  const auto add = [&](std::string_view part) {
    if (part.empty()) return;
    form += '.';
    form += part;
  };
  for (const ptx::Modifier modifier : instruction.modifiers) add(ptx::NameOf(modifier));
  add(ptx::NameOf(instruction.space));
  add(ptx::NameOf(instruction.second_space));
  if (instruction.vector > 1) form += ".v" + std::to_string(instruction.vector);
  for (const ptx::Type type : instruction.types) add(ptx::NameOf(type));
  return form;
}

}  // namespace tutti::compiler::lowering
