// Which modifiers of an instruction somebody has looked at. Whoever gives an instruction its meaning asks Has() for
// what it knows; what nobody asked for must not be there, or it would be ignored.
#pragma once

#include <cstdint>
#include <optional>

#include "ptx/ast.h"

namespace tutti::ptx {

class ModifierUse {
 public:
  ModifierUse() = default;
  explicit ModifierUse(const Instruction& instruction) : instruction_(&instruction) {}

  // The instruction has the modifier, and that is now known.
  bool Has(Modifier modifier) const {
    bool found = false;
    for (size_t i = 0; i < instruction_->modifiers.size(); ++i) {
      if (instruction_->modifiers[i] != modifier) continue;
      seen_ |= 1u << i;
      found = true;
    }
    return found;
  }

  // The first that was not asked for and that `is_harmless` does not know.
  template <typename F>
  std::optional<Modifier> FirstUnseen(F is_harmless) const {
    for (size_t i = 0; i < instruction_->modifiers.size(); ++i) {
      const Modifier modifier = instruction_->modifiers[i];
      if ((seen_ >> i & 1) == 0 && !is_harmless(modifier)) return modifier;
    }
    return std::nullopt;
  }

 private:
  const Instruction* instruction_ = nullptr;
  mutable uint32_t seen_ = 0;  // by place; an instruction has at most 14
};

}  // namespace tutti::ptx
