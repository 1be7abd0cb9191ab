// Whether the types, state spaces and vector widths of an instruction belong to it. Modifiers are left to those who
// give the instruction its meaning (modifier_use.h): what nobody asks for is refused.
#pragma once

#include <string>
#include <string_view>

#include "ptx/ast.h"

namespace tutti::ptx {

// Empty if they do, else why not. `pattern` is the instruction's row of operand_shape.def, "" if it has none.
std::string WrongWords(const Instruction& instruction, std::string_view pattern);

}  // namespace tutti::ptx
