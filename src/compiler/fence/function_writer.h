// Writes instructions that become a part of a function: its new registers, labels and operands.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "ptx/ast.h"

namespace tutti::compiler::fencing {

inline ptx::Operand Register(ptx::RegisterId id) { return {.kind = ptx::OperandKind::kRegister, .index = id}; }
inline ptx::Operand Number(uint64_t bits) { return {.kind = ptx::OperandKind::kImmediate, .bits = bits}; }
inline ptx::Operand Symbol(ptx::SymbolId id, int64_t offset = 0) {
  return {.kind = ptx::OperandKind::kSymbol, .index = id, .offset = offset};
}
inline ptx::Operand Local(uint32_t id, int64_t offset = 0) {
  return {.kind = ptx::OperandKind::kLocal, .index = id, .offset = offset};
}
inline ptx::Operand Label(ptx::LabelId id) { return {.kind = ptx::OperandKind::kLabel, .index = id}; }

class FunctionWriter {
 protected:
  explicit FunctionWriter(ptx::Function& function);

  // What is written from now on counts as of the place of this instruction in the source.
  void StandAt(const ptx::Instruction& instruction);

  ptx::RegisterId NewRegister(const char* name, ptx::Type type);
  // One for all uses of the name.
  ptx::RegisterId Temporary(const char* name, ptx::Type type);
  ptx::LabelId NewLabel();
  // The label stands before what is written next.
  void Place(ptx::LabelId label) { function_.labels[label].instruction = static_cast<uint32_t>(made_.size()); }

  ptx::Instruction& Emit(ptx::Opcode opcode, std::initializer_list<ptx::Modifier> modifiers,
                         std::initializer_list<ptx::Type> types, std::vector<ptx::Operand> operands);
  void EmitMove(ptx::RegisterId to, ptx::Operand from);  // of 64 bits
  void EmitCall(ptx::SymbolId target, std::vector<ptx::Operand> arguments);

  // The printer needs labels in the order of the text.
  void SortLabels();

  ptx::Function& function_;
  std::vector<ptx::Instruction> made_;
  ptx::SourcePosition position_;

 private:
  std::vector<std::string> names_;  // of the function's own labels
  std::map<std::string, ptx::RegisterId> temporaries_;
  uint32_t next_label_ = 0;
  uint32_t source_line_ = 0, source_file_ = 0;
};

}  // namespace tutti::compiler::fencing
