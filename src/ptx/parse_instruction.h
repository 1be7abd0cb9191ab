// One instruction, from its guard to its semicolon.
#pragma once

#include "ptx/body_state.h"

namespace tutti::ptx {

bool ParseInstruction(BodyState& state);

}  // namespace tutti::ptx
