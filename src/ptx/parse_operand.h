// Operands of an instruction.
#pragma once

#include <vector>

#include "ptx/body_state.h"

namespace tutti::ptx {

// Appends one operand, and for "[tex, {x, y}]" those that follow it in its brackets.
bool ParseOperand(BodyState& state, std::vector<Operand>* operands);
// A branch target: its index is a label reference until the end of the body.
bool ParseLabelOperand(BodyState& state, std::vector<Operand>* operands);

}  // namespace tutti::ptx
