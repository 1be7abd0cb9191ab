// What widening says of a kernel to those that see only the code of its warps.
#pragma once

namespace tutti::compiler {

// Each warp of a block ends before the next one begins (widen/divergence/spin_loops.h, MayWaitUnseen).
inline constexpr const char* kOneAfterTheOther = "tutti.one_after_the_other";

}  // namespace tutti::compiler
