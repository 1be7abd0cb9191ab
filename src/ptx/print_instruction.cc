#include "ptx/print_instruction.h"

#include <fmt/format.h>

#include <iterator>

namespace tutti::ptx {
namespace {

class InstructionPrinter {
 public:
  InstructionPrinter(const Module& module, const Function& function, const Instruction& instruction, std::string* out)
      : module_(module), function_(function), instruction_(instruction), out_(out) {}

  void Print() {
    if (instruction_.guard) {
      Append(instruction_.guard->negated ? "@!" : "@");
      Append(function_.registers[instruction_.guard->predicate].name);
      Append(" ");
    }
    Append(NameOf(instruction_.opcode));
    PrintWords();
    if (instruction_.opcode == Opcode::kCall) {
      PrintCall();
      return;
    }
    PrintOperands();
    if (instruction_.branch_targets == ~0u) return;
    Append(", ");
    Append(TargetsName(instruction_.branch_targets));
  }

 private:
  void Append(std::string_view text) { *out_ += text; }
  template <typename... Args>
  void Format(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(*out_), format, std::forward<Args>(args)...);
  }

  // In the order of the text they came from. For an instruction made by hand (no order) modifiers come first, then
  // spaces, width and types, which suits nearly all.
  void PrintWords() {
    uint64_t order = instruction_.word_order;
    while (AnyWordLeft()) {
      const auto wanted = static_cast<WordGroup>(order & 3);
      order >>= 2;
      for (const WordGroup group :
           {wanted, WordGroup::kModifier, WordGroup::kSpace, WordGroup::kVector, WordGroup::kType}) {
        if (PrintNextOf(group)) break;
      }
    }
  }

  bool AnyWordLeft() const {
    return next_modifier_ < instruction_.modifiers.size() || next_type_ < instruction_.types.size() ||
           SpaceAt(next_space_) != StateSpace::kGeneric || (!vector_done_ && instruction_.vector != 1);
  }

  StateSpace SpaceAt(uint32_t i) const {
    if (i == 0) return instruction_.space;
    return i == 1 ? instruction_.second_space : StateSpace::kGeneric;
  }

  // ".shared" alone means the block's, but assemblers want it explicit for these.
  std::string_view SpaceName(StateSpace space) const {
    const bool said = instruction_.Has(Modifier::kBulk) || instruction_.opcode == Opcode::kClusterlaunchcontrol;
    return space == StateSpace::kShared && said ? "shared::cta" : NameOf(space);
  }

  bool PrintNextOf(WordGroup group) {
    switch (group) {
      case WordGroup::kModifier:
        if (next_modifier_ == instruction_.modifiers.size()) return false;
        Format(".{}", NameOf(instruction_.modifiers[next_modifier_++]));
        return true;
      case WordGroup::kSpace:
        if (SpaceAt(next_space_) == StateSpace::kGeneric) return false;
        Format(".{}", SpaceName(SpaceAt(next_space_++)));
        return true;
      case WordGroup::kVector:
        if (vector_done_ || instruction_.vector == 1) return false;
        vector_done_ = true;
        Format(".v{}", instruction_.vector);
        return true;
      case WordGroup::kType:
        if (next_type_ == instruction_.types.size()) return false;
        Format(".{}", NameOf(instruction_.types[next_type_++]));
        return true;
    }
    return false;
  }

  void PrintOperands() {
    const auto& operands = instruction_.operands;
    for (size_t i = 0; i < operands.size(); ++i) {
      const bool second_destination = i == 1 && instruction_.has_second_destination;
      Append(i == 0 ? " " : second_destination ? "|" : ", ");
      PrintOperand(operands[i]);
      if (operands[i].kind != OperandKind::kAddress) continue;
      for (uint32_t inside = operands[i].count; inside > 0 && i + 1 < operands.size(); --inside) {
        Append(", ");
        PrintOperand(operands[++i]);
      }
      Append("]");
    }
  }

  void PrintCall() {
    const auto& operands = instruction_.operands;
    Append(" ");
    if (instruction_.call_returns != 0) {
      PrintList(1, instruction_.call_returns);
      Append(", ");
    }
    PrintOperand(operands[0]);
    if (instruction_.call_arguments != 0 || instruction_.prototype != ~0u) {
      Append(", ");
      PrintList(1 + instruction_.call_returns, instruction_.call_arguments);
    }
    if (instruction_.prototype != ~0u) Format(", {}", PrototypeName(instruction_.prototype));
  }

  void PrintList(uint32_t first, uint32_t count) {
    Append("(");
    for (uint32_t i = 0; i < count; ++i) {
      if (i != 0) Append(", ");
      PrintOperand(instruction_.operands[first + i]);
    }
    Append(")");
  }

  void PrintOffset(int64_t offset) {
    if (offset > 0) Format("+{}", offset);
    if (offset < 0) Format("+{}", offset);  // "+-8", as compilers write it
  }

  void PrintImmediate(const Operand& operand) {
    if (!operand.is_float) {
      Format("{}", static_cast<int64_t>(operand.bits));
    } else if (operand.is_f32) {
      Format("0f{:08X}", operand.bits);
    } else {
      Format("0d{:016X}", operand.bits);
    }
  }

  void PrintSelector(uint32_t selector) {
    if (selector == 0) return;
    Append((selector >> 20 & 1) != 0 ? ".h" : ".b");
    for (uint32_t i = 0; i < (selector >> 16 & 15); ++i) Format("{}", selector >> (4 * i) & 15);
  }

  // Leaves the bracket of an address open.
  void PrintAddress(const Operand& operand) {
    Append("[");
    switch (operand.base) {
      case BaseKind::kNone: Format("{}", operand.offset); return;
      case BaseKind::kRegister: Append(function_.registers[operand.index].name); break;
      case BaseKind::kSymbol: Append(module_.symbols[operand.index].name); break;
      case BaseKind::kLocal: Append(function_.locals[operand.index].name); break;
    }
    PrintOffset(operand.offset);
  }

  void PrintOperand(const Operand& operand) {
    if (operand.negated) Append(instruction_.opcode == Opcode::kVmad ? "-" : "!");
    switch (operand.kind) {
      case OperandKind::kRegister:
        Append(function_.registers[operand.index].name);
        PrintSelector(operand.selector);
        break;
      case OperandKind::kImmediate: PrintImmediate(operand); break;
      case OperandKind::kAddress: PrintAddress(operand); break;
      case OperandKind::kSymbol:
        Append(module_.symbols[operand.index].name);
        PrintOffset(operand.offset);
        break;
      case OperandKind::kLocal:
        Append(function_.locals[operand.index].name);
        PrintOffset(operand.offset);
        break;
      case OperandKind::kLabel: Append(function_.labels[operand.index].name); break;
      case OperandKind::kVector:
        Append("{");
        for (uint32_t i = 0; i < operand.count; ++i) {
          if (i != 0) Append(", ");
          PrintOperand(function_.vector_operands[operand.index + i]);
        }
        Append("}");
        break;
      case OperandKind::kSpecial: Append(NameOf(static_cast<SpecialRegister>(operand.index))); break;
      case OperandKind::kSink: Append("_"); break;
    }
  }

  const Module& module_;
  const Function& function_;
  const Instruction& instruction_;
  std::string* out_;
  size_t next_modifier_ = 0;
  size_t next_type_ = 0;
  uint32_t next_space_ = 0;
  bool vector_done_ = false;
};

}  // namespace

void PrintInstruction(const Module& module, const Function& function, const Instruction& instruction,
                      std::string* out) {
  InstructionPrinter(module, function, instruction, out).Print();
}

std::string PrototypeName(uint32_t index) { return fmt::format("$prototype_{}", index); }
std::string TargetsName(uint32_t index) { return fmt::format("$targets_{}", index); }

}  // namespace tutti::ptx
