// The base mnemonics of PTX (opcode.def) as an enumeration.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tutti::ptx {

enum class Opcode : uint8_t {
#define TUTTI_PTX_OPCODE(enumerator, text) enumerator,
#include "ptx/opcode.def"
#undef TUTTI_PTX_OPCODE
};

// All of them, in their order.
inline constexpr Opcode kOpcodes[] = {
#define TUTTI_PTX_OPCODE(enumerator, text) Opcode::enumerator,
#include "ptx/opcode.def"
#undef TUTTI_PTX_OPCODE
};

std::string_view NameOf(Opcode opcode);  // "add"
std::optional<Opcode> OpcodeFromName(std::string_view name);

}  // namespace tutti::ptx
