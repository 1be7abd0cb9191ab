#include "compiler/fence/local_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_set>

#include "guest/gpu/fenced_ptx.h"

namespace tutti::compiler::fencing {
namespace {

constexpr std::string_view kReservedPrefixes[] = {guest::kFencePrefix, "%tutti_", "$tutti_", "$prototype_",
                                                  "$targets_"};

class LocalNames {
 public:
  explicit LocalNames(const std::unordered_set<std::string_view>& symbols) : symbols_(symbols) {}

  void KeepApart(ptx::Function& function) {
    for (ptx::Register& one : function.registers) KeepApart(one.name);
    for (ptx::LocalVariable& local : function.locals) {
      if (local.space == ptx::StateSpace::kReg && local.register_id < function.registers.size()) {
        local.name = function.registers[local.register_id].name;
      } else {
        KeepApart(local.name);
      }
    }
    for (ptx::Label& label : function.labels) KeepApart(label.name);
  }

 private:
  bool IsFree(const std::string& name) const {
    return !IsReserved(name) && !symbols_.contains(name) && !taken_.contains(name);
  }
  void KeepApart(std::string& name) {
    while (!IsFree(name)) name = fmt::format("$local_{}", next_++);
    taken_.insert(name);
  }

  const std::unordered_set<std::string_view>& symbols_;
  std::unordered_set<std::string> taken_;
  uint32_t next_ = 0;
};

}  // namespace

bool IsReserved(std::string_view name) {
  return std::ranges::any_of(kReservedPrefixes, [&](std::string_view prefix) { return name.starts_with(prefix); }) ||
         ptx::SpecialRegisterFromName(name).has_value();
}

void KeepNamesApart(ptx::Module& module) {
  std::unordered_set<std::string_view> symbols;
  for (const ptx::Symbol& symbol : module.symbols) symbols.insert(symbol.name);
  for (ptx::Function& function : module.functions) LocalNames(symbols).KeepApart(function);
}

}  // namespace tutti::compiler::fencing
