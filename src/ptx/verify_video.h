// What the video instructions ask of their types, part selectors and signs, beyond the pattern of their operands.
#pragma once

#include <string>

#include "ptx/ast.h"

namespace tutti::ptx {

bool IsVideo(Opcode opcode);

// Empty if the instruction is right, else why not. Of other instructions nothing is said.
std::string WrongVideo(const Instruction& instruction);

}  // namespace tutti::ptx
