#include "ptx/printer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>

#include "ptx/print_instruction.h"

namespace tutti::ptx {
namespace {

std::string_view NameOf(Linkage linkage) {
  switch (linkage) {
    case Linkage::kExtern: return ".extern ";
    case Linkage::kVisible: return ".visible ";
    case Linkage::kWeak: return ".weak ";
    case Linkage::kCommon: return ".common ";
    case Linkage::kNone: break;
  }
  return "";
}

class ModulePrinter {
 public:
  explicit ModulePrinter(const Module& module) : module_(module) {}

  std::string Print() {
    Format(".version {}.{}\n", module_.version_major, module_.version_minor);
    if (!module_.target.empty()) Format(".target {}\n", module_.target);
    Format(".address_size {}\n\n", module_.address_bits);
    for (size_t i = 0; i < module_.files.size(); ++i) {
      if (!module_.files[i].empty()) Format(".file {} \"{}\"\n", i, module_.files[i]);
    }
    for (const Symbol& symbol : module_.symbols) PrintSymbol(symbol);
    for (const Symbol& symbol : module_.symbols) {
      if (symbol.kind == Symbol::Kind::kFunction && !IsAlias(symbol)) PrintDefinition(module_.functions[symbol.index]);
    }
    for (const Symbol& symbol : module_.symbols) {
      if (symbol.kind == Symbol::Kind::kFunction && IsAlias(symbol)) {
        Format(".alias {}, {};\n", symbol.name, module_.functions[symbol.index].name);
      }
    }
    return std::move(out_);
  }

 private:
  template <typename... Args>
  void Format(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  bool IsAlias(const Symbol& symbol) const { return module_.functions[symbol.index].name != symbol.name; }

  // Variables in full, functions as declarations, in the order of the symbols, so that they get the same numbers again.
  void PrintSymbol(const Symbol& symbol) {
    if (symbol.kind == Symbol::Kind::kVariable) {
      PrintVariable(module_.variables[symbol.index]);
    } else if (!IsAlias(symbol)) {
      PrintHeader(module_.functions[symbol.index]);
      out_ += ";\n";
    } else {
      Format(".func {};\n", symbol.name);
    }
  }

  void PrintShape(Type type, uint32_t vector, uint32_t alignment) {
    const uint64_t natural = std::bit_ceil<uint64_t>((BitsOf(type) + 7) / 8 * vector);
    if (alignment != natural) Format(".align {} ", alignment);
    if (vector != 1) Format(".v{} ", vector);
    Format(".{} ", ptx::NameOf(type));
  }

  void PrintCount(uint64_t count) {
    if (count == 0) out_ += "[]";
    if (count > 1) Format("[{}]", count);
  }

  void PrintVariable(const Variable& variable) {
    Format("{}.{} ", NameOf(variable.linkage), ptx::NameOf(variable.space));
    if (BitsOf(variable.type) == 0) {
      Format(".{} {};\n", ptx::NameOf(variable.type), variable.name);
      return;
    }
    if (variable.managed) out_ += ".attribute(.managed) ";
    PrintShape(variable.type, variable.vector, variable.alignment);
    out_ += variable.name;
    PrintCount(variable.count);
    if (!variable.init.bytes.empty()) PrintInitializer(variable);
    out_ += ";\n";
  }

  // Element by element in the variable's own type; each vector of an array has braces of its own.
  void PrintInitializer(const Variable& variable) {
    const Initializer& init = variable.init;
    const size_t element = (BitsOf(variable.type) + 7) / 8;
    const bool braces = variable.count != 1 || variable.vector != 1;
    const size_t group = variable.count != 1 && variable.vector != 1 ? element * variable.vector : 0;
    out_ += braces ? " = {" : " = ";
    size_t next_address = 0;
    for (size_t at = 0; at < init.bytes.size();) {
      if (group != 0 && at != 0 && at % group == 0) out_ += "}";
      if (at != 0) out_ += ", ";
      if (group != 0 && at % group == 0) out_ += "{";
      if (next_address < init.addresses.size() && init.addresses[next_address].offset == at) {
        PrintAddress(init.addresses[next_address++], element);
        at += 8;
        continue;
      }
      uint64_t bits = 0;
      for (size_t i = 0; i < std::min<size_t>(element, 8) && at + i < init.bytes.size(); ++i) {
        bits |= uint64_t{init.bytes[at + i]} << (8 * i);
      }
      PrintValue(variable.type, bits);
      at += element;
    }
    if (group != 0) out_ += "}";
    if (braces) out_ += "}";
  }

  void PrintValue(Type type, uint64_t bits) {
    if (type == Type::kF64) {
      Format("0d{:016X}", bits);
    } else if (type == Type::kF32) {
      Format("0f{:08X}", bits);
    } else {
      Format("{}", bits);
    }
  }

  void PrintAddress(const Initializer::AddressOf& address, size_t element) {
    std::string text = module_.symbols[address.symbol].name;
    if (address.generic) text = fmt::format("generic({})", text);
    if (address.addend != 0) text += fmt::format("{:+}", address.addend);
    if (element == 8) {
      out_ += text;
      return;
    }
    for (uint32_t byte = 0; byte < 8; ++byte) {
      Format("{}0x{:X}({})", byte == 0 ? "" : ", ", uint64_t{0xff} << (8 * byte), text);
    }
  }

  void PrintParameters(const std::vector<LocalVariable>& parameters, const std::vector<LocalVariable>* named,
                       size_t first) {
    out_ += "(";
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (i != 0) out_ += ", ";
      const LocalVariable& parameter = parameters[i];
      if (parameter.space == StateSpace::kReg) {
        Format(".reg .{} {}", ptx::NameOf(parameter.type), named ? (*named)[first + i].name : "_");
        continue;
      }
      out_ += ".param ";
      PrintShape(parameter.type, parameter.vector, parameter.alignment);
      out_ += named ? (*named)[first + i].name : "_";
      PrintCount(parameter.count);
    }
    out_ += ")";
  }

  void PrintHeader(const Function& function) {
    Format("{}{}", NameOf(function.linkage), function.is_entry ? ".entry" : ".func");
    if (!function.prototype.returns.empty()) {
      out_ += " ";
      PrintParameters(function.prototype.returns, &function.locals, function.first_return);
    }
    Format(" {}", function.name);
    if (!function.prototype.params.empty() || function.is_entry) {
      PrintParameters(function.prototype.params, &function.locals, function.first_param);
    }
    if (function.noreturn) out_ += " .noreturn";
  }

  void PrintLimits(const Function& function) {
    PrintExtents("maxntid", function.max_threads);
    PrintExtents("reqntid", function.required_threads);
    PrintExtents("reqnctapercluster", function.required_cluster);
    if (function.explicit_cluster) out_ += "\n.explicitcluster";
    if (function.max_cluster != 0) Format("\n.maxclusterrank {}", function.max_cluster);
    if (function.blocks_are_clusters) out_ += "\n.blocksareclusters";
    if (function.min_blocks != 0) Format("\n.minnctapersm {}", function.min_blocks);
    if (function.max_registers != 0) Format("\n.maxnreg {}", function.max_registers);
  }

  void PrintExtents(std::string_view directive, const std::array<uint32_t, 3>& extents) {
    if (extents[0] != 0) Format("\n.{} {}, {}, {}", directive, extents[0], extents[1], extents[2]);
  }

  void PrintDefinition(const Function& function) {
    if (!function.body_parsed) return;
    PrintHeader(function);
    PrintLimits(function);
    out_ += "\n{\n";
    PrintRegisters(function);
    const size_t parameters = function.prototype.returns.size() + function.prototype.params.size();
    for (size_t i = parameters; i < function.locals.size(); ++i) PrintLocal(function.locals[i]);
    for (size_t i = 0; i < function.prototypes.size(); ++i)
      PrintPrototype(function.prototypes[i], static_cast<uint32_t>(i));
    for (size_t i = 0; i < function.branch_targets.size(); ++i) PrintTargets(function, static_cast<uint32_t>(i));
    PrintInstructions(function);
    out_ += "}\n\n";
  }

  void PrintRegisters(const Function& function) {
    std::vector<bool> is_parameter(function.registers.size());
    for (const LocalVariable& local : function.locals) {
      // A body that could not be parsed has none.
      if (local.space == StateSpace::kReg && local.register_id < is_parameter.size())
        is_parameter[local.register_id] = true;
    }
    for (size_t i = 0; i < function.registers.size(); ++i) {
      if (!is_parameter[i])
        Format("\t.reg .{} {};\n", ptx::NameOf(function.registers[i].type), function.registers[i].name);
    }
  }

  void PrintLocal(const LocalVariable& local) {
    Format("\t.{} ", ptx::NameOf(local.space));
    PrintShape(local.type, local.vector, local.alignment);
    out_ += local.name;
    PrintCount(local.count);
    out_ += ";\n";
  }

  void PrintPrototype(const Prototype& prototype, uint32_t index) {
    Format("\t{} : .callprototype ", PrototypeName(index));
    if (!prototype.returns.empty()) PrintParameters(prototype.returns, nullptr, 0);
    out_ += " _ ";
    PrintParameters(prototype.params, nullptr, 0);
    if (prototype.noreturn) out_ += " .noreturn";
    out_ += ";\n";
  }

  void PrintTargets(const Function& function, uint32_t index) {
    Format("\t{}: .branchtargets ", TargetsName(index));
    bool first = true;
    for (const LabelId label : function.branch_targets[index]) {
      Format("{}{}", first ? "" : ", ", function.labels[label].name);
      first = false;
    }
    out_ += ";\n";
  }

  void PrintInstructions(const Function& function) {
    size_t next_label = 0;  // labels and pragmas are in the order of the text
    size_t next_pragma = 0;
    uint32_t line = 0;
    uint32_t file = 0;
    for (size_t i = 0; i <= function.instructions.size(); ++i) {
      for (; next_label < function.labels.size() && function.labels[next_label].instruction == i; ++next_label) {
        Format("{}:\n", function.labels[next_label].name);
      }
      for (; next_pragma < function.pragmas.size() && function.pragmas[next_pragma].instruction == i; ++next_pragma) {
        Format("\t.pragma \"{}\";\n", function.pragmas[next_pragma].text);
      }
      if (i == function.instructions.size()) break;
      const Instruction& instruction = function.instructions[i];
      if (instruction.source_line != line || instruction.source_file != file) {
        line = instruction.source_line;
        file = instruction.source_file;
        Format("\t.loc {} {} 0\n", file, line);
      }
      out_ += '\t';
      PrintInstruction(module_, function, instruction, &out_);
      out_ += ";\n";
    }
  }

  const Module& module_;
  std::string out_;
};

}  // namespace

std::string Print(const Module& module) { return ModulePrinter(module).Print(); }

}  // namespace tutti::ptx
