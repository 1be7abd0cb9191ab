// The part of a thread's local memory that alloca takes from: tutti.stack() is its address.
#pragma once

#include <cstdint>

namespace tutti::compiler {

inline constexpr uint64_t kLocalStackBytes = 16 << 10;

}  // namespace tutti::compiler
