#include "ptx/linker.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "cuda/result.h"

namespace tutti::ptx {
namespace {

bool IsDeviceRuntime(const Module& unit) {
  return std::any_of(unit.functions.begin(), unit.functions.end(), [](const Function& function) {
    return !function.has_body && function.name == "__cuda_syscall_cnpv2LaunchDeviceV2";
  });
}

bool IsDefinition(const Variable& variable) { return variable.linkage != Linkage::kExtern; }

bool SameShape(const std::vector<LocalVariable>& a, const std::vector<LocalVariable>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const LocalVariable& x, const LocalVariable& y) {
    return x.bytes() == y.bytes() && x.space == y.space;
  });
}

std::unexpected<Error> Invalid(std::string text) { return Fail(cuda::CUDA_ERROR_INVALID_PTX, std::move(text)); }

class Linker {
 public:
  Status Add(Module unit) {
    ++unit_number_;
    if (out_.target.empty()) out_.target = unit.target;
    if (std::pair(unit.version_major, unit.version_minor) > std::pair(out_.version_major, out_.version_minor)) {
      out_.version_major = unit.version_major;
      out_.version_minor = unit.version_minor;
    }
    new_id_.assign(unit.symbols.size(), 0);
    place_.assign(unit.functions.size(), kNoPlace);
    // Aliases come last: functions are called by their own names.
    std::vector<SymbolId> aliases;
    for (SymbolId id = 0; id < unit.symbols.size(); ++id) {
      if (IsAlias(unit, unit.symbols[id])) {
        aliases.push_back(id);
      } else {
        TUTTI_TRY(AddSymbol(unit, id));
      }
    }
    for (const SymbolId id : aliases) TUTTI_TRY(AddAlias(unit, id));
    Renumber();
    out_.files.insert(out_.files.end(), unit.files.begin(), unit.files.end());
    return {};
  }

  Module Take() { return std::move(out_); }

 private:
  static constexpr uint32_t kNoPlace = ~0u;

  static bool IsAlias(const Module& unit, const Symbol& symbol) {
    return symbol.kind == Symbol::Kind::kFunction && unit.functions[symbol.index].name != symbol.name;
  }

  Status AddSymbol(Module& unit, SymbolId id) {
    const Symbol& symbol = unit.symbols[id];
    return symbol.kind == Symbol::Kind::kVariable ? AddVariable(unit.variables[symbol.index], id)
                                                  : AddFunction(unit.functions[symbol.index], symbol.index, id);
  }

  // The symbol that all units know by this name, if there is one.
  Symbol* FindShared(const std::string& name) {
    const auto found = shared_.find(name);
    return found == shared_.end() ? nullptr : &out_.symbols[found->second];
  }

  SymbolId NewSymbol(const std::string& name, Symbol::Kind kind, uint32_t index, bool shared) {
    const auto id = static_cast<SymbolId>(out_.symbols.size());
    out_.symbols.push_back({name, kind, index});
    taken_.emplace(name, id);
    if (shared) shared_.emplace(name, id);
    return id;
  }

  std::string NameOfItsOwn(const std::string& name) const {
    std::string unique = name;
    for (uint32_t n = unit_number_; taken_.contains(unique); ++n) unique = fmt::format("{}$u{}", name, n);
    return unique;
  }

  // A unit's private name must not shadow one that a later unit shares: then the private one is renamed.
  void MakeWay(const std::string& name) {
    const auto found = taken_.find(name);
    if (found == taken_.end() || shared_.contains(name)) return;
    const SymbolId id = found->second;
    const std::string unique = NameOfItsOwn(name);
    taken_.erase(found);
    taken_.emplace(unique, id);
    Symbol& symbol = out_.symbols[id];
    symbol.name = unique;
    (symbol.kind == Symbol::Kind::kVariable ? out_.variables[symbol.index].name : out_.functions[symbol.index].name) =
        unique;
  }

  Status AddVariable(Variable& variable, SymbolId id) {
    const bool own = variable.linkage == Linkage::kNone;
    Symbol* before = own ? nullptr : FindShared(variable.name);
    if (before == nullptr) {
      if (own) {
        variable.name = NameOfItsOwn(variable.name);
      } else {
        MakeWay(variable.name);
      }
      new_id_[id] =
          NewSymbol(variable.name, Symbol::Kind::kVariable, static_cast<uint32_t>(out_.variables.size()), !own);
      new_variables_.push_back(static_cast<uint32_t>(out_.variables.size()));
      out_.variables.push_back(std::move(variable));
      return {};
    }
    new_id_[id] = shared_.at(variable.name);
    if (before->kind != Symbol::Kind::kVariable)
      return Invalid(fmt::format("'{}' is a variable in one unit and a function in another", variable.name));
    Variable& kept = out_.variables[before->index];
    if (!IsDefinition(variable)) return {};
    if (!IsDefinition(kept) || Prefers(variable, kept)) {
      new_variables_.push_back(before->index);
      kept = std::move(variable);
      return {};
    }
    if (!IsTentative(variable.linkage) && !IsTentative(kept.linkage))
      return Invalid(fmt::format("'{}' is defined in two units", kept.name));
    return {};
  }

  static bool IsTentative(Linkage linkage) { return linkage == Linkage::kWeak || linkage == Linkage::kCommon; }
  static bool Prefers(const Variable& a, const Variable& b) {
    if (a.linkage == Linkage::kCommon && b.linkage == Linkage::kCommon) return a.bytes() > b.bytes();
    return IsTentative(b.linkage) && !IsTentative(a.linkage);
  }

  Status AddFunction(Function& function, uint32_t index, SymbolId id) {
    const bool own = function.has_body && !function.is_entry && function.linkage == Linkage::kNone;
    Symbol* before = own ? nullptr : FindShared(function.name);
    if (before == nullptr) {
      if (own) {
        function.name = NameOfItsOwn(function.name);
      } else {
        MakeWay(function.name);
      }
      place_[index] = static_cast<uint32_t>(out_.functions.size());
      new_id_[id] = NewSymbol(function.name, Symbol::Kind::kFunction, place_[index], !own);
      return Place(std::move(function), place_[index], new_id_[id]);
    }
    new_id_[id] = shared_.at(function.name);
    if (before->kind != Symbol::Kind::kFunction)
      return Invalid(fmt::format("'{}' is a function in one unit and a variable in another", function.name));
    const Function& kept = out_.functions[before->index];
    place_[index] = before->index;
    if (!SameShape(kept.prototype.params, function.prototype.params) ||
        !SameShape(kept.prototype.returns, function.prototype.returns)) {
      return Invalid(fmt::format("'{}' has different parameters in two units", function.name));
    }
    if (!function.has_body) return {};
    if (!kept.has_body || (kept.linkage == Linkage::kWeak && function.linkage != Linkage::kWeak)) {
      return Place(std::move(function), before->index, new_id_[id]);
    }
    if (kept.linkage != Linkage::kWeak && function.linkage != Linkage::kWeak) {
      return Invalid(fmt::format("'{}' is defined in two units", function.name));
    }
    return {};
  }

  Status Place(Function function, uint32_t index, SymbolId symbol) {
    function.symbol = symbol;
    function.unit = unit_number_;
    new_functions_.push_back(index);
    if (index == out_.functions.size()) {
      out_.functions.push_back(std::move(function));
    } else {
      out_.functions[index] = std::move(function);
    }
    return {};
  }

  Status AddAlias(const Module& unit, SymbolId id) {
    const Symbol& alias = unit.symbols[id];
    const uint32_t function = place_[alias.index];
    if (Symbol* before = FindShared(alias.name)) {
      if (before->kind != Symbol::Kind::kFunction || out_.functions[before->index].has_body) {
        return Invalid(fmt::format("'{}' is defined in two units", alias.name));
      }
      before->index = function;
      new_id_[id] = shared_.at(alias.name);
      return {};
    }
    MakeWay(alias.name);
    new_id_[id] = NewSymbol(alias.name, Symbol::Kind::kFunction, function, true);
    return {};
  }

  // Renumbers the symbols and files that this unit refers to.
  void Renumber() {
    for (const uint32_t index : new_variables_) {
      for (auto& address : out_.variables[index].init.addresses) address.symbol = new_id_[address.symbol];
    }
    for (const uint32_t index : new_functions_) {
      Function& function = out_.functions[index];
      for (Instruction& instruction : function.instructions) {
        for (Operand& operand : instruction.operands) Renumber(&operand);
        if (instruction.source_line != 0) instruction.source_file += static_cast<uint32_t>(out_.files.size());
      }
      for (Operand& operand : function.vector_operands) Renumber(&operand);
    }
    new_variables_.clear();
    new_functions_.clear();
  }

  void Renumber(Operand* operand) const {
    const bool is_base = operand->kind == OperandKind::kAddress && operand->base == BaseKind::kSymbol;
    if (operand->kind == OperandKind::kSymbol || is_base) operand->index = new_id_[operand->index];
  }

  Module out_;
  std::unordered_map<std::string, SymbolId> shared_;  // names that mean the same in all units
  std::unordered_map<std::string, SymbolId> taken_;   // all names
  uint32_t unit_number_ = 0;
  // Of the unit that is being added:
  std::vector<SymbolId> new_id_;  // by old id
  std::vector<uint32_t> place_;   // of its functions in the output
  std::vector<uint32_t> new_variables_;
  std::vector<uint32_t> new_functions_;
};

}  // namespace

Result<Module> Link(std::vector<Module> units) {
  if (units.size() == 1) return std::move(units.front());
  Linker linker;
  for (Module& unit : units) {
    if (!IsDeviceRuntime(unit)) TUTTI_TRY(linker.Add(std::move(unit)));
  }
  return linker.Take();
}

}  // namespace tutti::ptx
