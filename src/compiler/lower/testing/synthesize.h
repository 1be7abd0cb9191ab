// Makes a small PTX module around one instruction from its form alone ("fma.rn.f32", as in the histogram of forms), to
// find out which forms can be compiled. Operands are those of ptx/operand_shape.def.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tutti::compiler::lowering {

// The statement with operands that fit the form; nothing for mnemonics that are not known here.
std::optional<std::string> SynthesizeStatement(std::string_view form);

// A module with one kernel, `k`, that holds the statement.
std::string SynthesizeModule(std::string_view statement);

// Empty if the form can be lowered, else the reason why not.
std::string WhyNotLowered(std::string_view form);

}  // namespace tutti::compiler::lowering
