// A Module back to PTX text that parses to the same Module, and that the vendor's assembler takes.
#pragma once

#include <string>

#include "ptx/ast.h"

namespace tutti::ptx {

std::string Print(const Module& module);
// One instruction without guard, label or semicolon: "add.s32 %r1, %r2, 5".
std::string Print(const Module& module, const Function& function, const Instruction& instruction);

}  // namespace tutti::ptx
