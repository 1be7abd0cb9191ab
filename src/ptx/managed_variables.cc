#include "ptx/managed_variables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tutti::ptx {
namespace {

constexpr uint64_t kPointerBytes = 8;
constexpr uint64_t kMostConstantBytes = 64 << 10;
constexpr uint64_t kRoomForOthers = 1 << 10;  // of the constants: for what a fence adds

class Managed {
 public:
  Managed(Module* module, std::string_view prefix) : module_(*module), prefix_(prefix) {
    for (SymbolId id = 0; id < module_.symbols.size(); ++id) {
      const Symbol& symbol = module_.symbols[id];
      if (symbol.kind == Symbol::Kind::kVariable && module_.variables[symbol.index].managed) pointers_[id] = 0;
    }
  }

  std::string TakeOut() {
    if (pointers_.empty()) return {};
    if (auto why = WhyNot(); !why.empty()) return why;
    for (auto& [id, pointer] : pointers_) {
      Variable& variable = VariableOf(id);
      variable.managed = false;
      // No code uses it any more, and an assembler leaves out what is a module's own.
      if (variable.linkage == Linkage::kNone) variable.linkage = Linkage::kVisible;
      pointer = AddPointer(prefix_ + variable.name);
    }
    for (Function& function : module_.functions) Rewrite(function);
    return {};
  }

 private:
  bool Is(SymbolId id) const { return pointers_.contains(id); }
  Variable& VariableOf(SymbolId id) { return module_.variables[module_.symbols[id].index]; }

  std::string WhyNot() {
    if (module_.address_bits != 64) return "managed variables of a module of 32-bit addresses";
    uint64_t constants = kPointerBytes * pointers_.size() + kRoomForOthers;
    for (const Variable& variable : module_.variables) {
      if (variable.space == StateSpace::kConst) constants += variable.bytes() + variable.alignment;
      const auto names_one = [this](const Initializer::AddressOf& address) { return Is(address.symbol); };
      if (std::ranges::any_of(variable.init.addresses, names_one))
        return fmt::format("the initial value of {} has the address of a managed variable", variable.name);
    }
    if (constants > kMostConstantBytes) return "the module's constants leave no room for where managed variables are";
    std::unordered_set<std::string_view> names;
    for (const Symbol& symbol : module_.symbols) names.insert(symbol.name);
    for (const auto& [id, pointer] : pointers_) {
      const Variable& variable = VariableOf(id);
      if (variable.space != StateSpace::kGlobal || variable.linkage == Linkage::kExtern || variable.bytes() == 0)
        return fmt::format("the managed variable {} is of another module", variable.name);
      const std::string name = prefix_ + variable.name;
      if (names.contains(name)) return fmt::format("the name {} is reserved", name);
    }
    for (const Function& function : module_.functions) {
      if (auto why = WhyNot(function); !why.empty()) return why;
    }
    return {};
  }

  std::string WhyNot(const Function& function) const {
    const auto in_vector = [this](const Operand& operand) {
      return operand.kind == OperandKind::kSymbol && Is(operand.index);
    };
    if (std::ranges::any_of(function.vector_operands, in_vector))
      return fmt::format("{} has the address of a managed variable in a vector", function.name);
    for (const Instruction& instruction : function.instructions) {
      for (const Operand& operand : instruction.operands) {
        const bool is_part = operand.kind == OperandKind::kSymbol && BitsOf(instruction.type()) != 64;
        if (is_part && Is(operand.index))
          return fmt::format("{} has a part of the address of a managed variable", function.name);
      }
    }
    return {};
  }

  SymbolId AddPointer(std::string name) {
    const auto id = static_cast<SymbolId>(module_.symbols.size());
    module_.symbols.push_back({name, Symbol::Kind::kVariable, static_cast<uint32_t>(module_.variables.size())});
    module_.variables.push_back({.name = std::move(name),
                                 .space = StateSpace::kConst,
                                 .linkage = Linkage::kVisible,
                                 .type = Type::kU64,
                                 .alignment = kPointerBytes});
    return id;
  }

  static bool Names(const Operand& operand) {
    return operand.kind == OperandKind::kSymbol ||
           (operand.kind == OperandKind::kAddress && operand.base == BaseKind::kSymbol);
  }

  void Rewrite(Function& function) {
    std::vector<Instruction> made;
    std::vector<uint32_t> starts;  // of what each instruction has become
    std::map<std::pair<SymbolId, int64_t>, RegisterId> registers;
    std::unordered_set<std::string> names;
    for (const Register& one : function.registers) names.insert(one.name);
    for (Instruction& instruction : function.instructions) {
      starts.push_back(static_cast<uint32_t>(made.size()));
      for (Operand& operand : instruction.operands) {
        if (!Names(operand) || !Is(operand.index)) continue;
        const bool is_address = operand.kind == OperandKind::kAddress;
        const SymbolId id = operand.index;
        const auto registers_of = [&](int64_t offset) {
          const auto [found, is_new] = registers.try_emplace({id, offset}, 0);
          if (is_new) found->second = AddRegister(function, names);
          return found->second;
        };
        const RegisterId begin = registers_of(0);
        made.push_back(LoadOf(begin, pointers_.at(id), instruction));
        if (is_address) {
          operand.base = BaseKind::kRegister;
          operand.index = begin;
          continue;
        }
        const RegisterId at = registers_of(operand.offset);
        if (operand.offset != 0) made.push_back(SumOf(at, begin, operand.offset, instruction));
        operand = {.kind = OperandKind::kRegister, .index = at};
      }
      made.push_back(std::move(instruction));
    }
    starts.push_back(static_cast<uint32_t>(made.size()));
    function.instructions = std::move(made);
    for (Label& label : function.labels) label.instruction = starts[label.instruction];
    for (Pragma& pragma : function.pragmas) pragma.instruction = starts[pragma.instruction];
  }

  // `names`: those of the function's registers.
  static RegisterId AddRegister(Function& function, std::unordered_set<std::string>& names) {
    size_t number = function.registers.size();
    std::string name;
    do name = fmt::format("%tutti_managed_{}", number++);
    while (!names.insert(name).second);
    function.registers.push_back({std::move(name), Type::kU64});
    return static_cast<RegisterId>(function.registers.size() - 1);
  }

  static Instruction At(const Instruction& place, Opcode opcode) {
    Instruction made;
    made.opcode = opcode;
    made.types.push_back(Type::kU64);
    made.position = place.position;
    made.source_line = place.source_line;
    made.source_file = place.source_file;
    return made;
  }
  static Instruction LoadOf(RegisterId to, SymbolId pointer, const Instruction& place) {
    Instruction load = At(place, Opcode::kLd);
    load.space = StateSpace::kConst;
    load.operands = {{.kind = OperandKind::kRegister, .index = to},
                     {.kind = OperandKind::kAddress, .base = BaseKind::kSymbol, .index = pointer}};
    return load;
  }
  static Instruction SumOf(RegisterId to, RegisterId from, int64_t offset, const Instruction& place) {
    Instruction sum = At(place, Opcode::kAdd);
    sum.operands = {{.kind = OperandKind::kRegister, .index = to},
                    {.kind = OperandKind::kRegister, .index = from},
                    {.kind = OperandKind::kImmediate, .bits = static_cast<uint64_t>(offset)}};
    return sum;
  }

  Module& module_;
  const std::string prefix_;
  std::map<SymbolId, SymbolId> pointers_;  // of managed variables
};

}  // namespace

bool HasManagedVariables(const Module& module) { return std::ranges::any_of(module.variables, &Variable::managed); }

std::string TakeOutManagedVariables(Module* module, std::string_view prefix) {
  return Managed(module, prefix).TakeOut();
}

}  // namespace tutti::ptx
