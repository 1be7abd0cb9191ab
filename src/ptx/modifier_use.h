// Tracks which modifiers of an instruction have been interpreted. The code that gives an instruction its meaning asks
// Has() for what it knows; a modifier that was never asked for would be ignored silently, so it must be refused.
#pragma once

#include <cstdint>
#include <optional>

#include "ptx/ast.h"

namespace tutti::ptx {

class ModifierUse {
 public:
  ModifierUse() = default;
  explicit ModifierUse(const Instruction& instruction) : instruction_(&instruction) {}

  // Whether the instruction has the modifier, which counts as interpreted from now on.
  bool Has(Modifier modifier) const {
    bool found = false;
    for (size_t i = 0; i < instruction_->modifiers.size(); ++i) {
      if (instruction_->modifiers[i] != modifier) continue;
      seen_ |= 1u << i;
      found = true;
    }
    return found;
  }

  // The first one that was not asked for and is not `is_harmless`.
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
