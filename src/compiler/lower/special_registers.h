// %tid, %laneid, %clock, ... as values.
#pragma once

#include "compiler/lower/emitter.h"

namespace tutti::compiler::lowering {

// i32, or i64 for the 64-bit registers.
llvm::Value* ReadSpecialRegister(Emitter& e, ptx::SpecialRegister special);

}  // namespace tutti::compiler::lowering
