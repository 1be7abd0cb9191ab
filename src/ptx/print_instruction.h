// One instruction as text.
#pragma once

#include <string>

#include "ptx/ast.h"

namespace tutti::ptx {

// Appends "@%p1 add.s32 %r1, %r2, 5" (no semicolon).
void PrintInstruction(const Module& module, const Function& function, const Instruction& instruction, std::string* out);

// The printer's own names for a function's call prototypes and lists of branch targets.
std::string PrototypeName(uint32_t index);
std::string TargetsName(uint32_t index);

}  // namespace tutti::ptx
