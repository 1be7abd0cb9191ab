// The instruction modifiers of PTX (modifier.def) as an enumeration.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tutti::ptx {

enum class Modifier : uint16_t {
#define TUTTI_PTX_MODIFIER(enumerator, text) enumerator,
#include "ptx/modifier.def"
#undef TUTTI_PTX_MODIFIER
};

std::string_view NameOf(Modifier modifier);  // "rn", without the dot
std::optional<Modifier> ModifierFromName(std::string_view name);

// A hint to the hardware without observable effect on any instruction: where to cache, that a branch does not diverge.
bool IsHint(Modifier modifier);

}  // namespace tutti::ptx
