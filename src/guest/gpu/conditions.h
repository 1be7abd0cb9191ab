// Conditions of graphs' conditional nodes on a GPU: words of the client's window, in the part that the host reaches. A
// handle is a word's address. A driver's own cudaGraphSetConditional knows none of them, so whoever reads PTX for a
// device puts a function in its place (ptx/condition_setter.h).
#pragma once

namespace tutti::guest {

inline constexpr const char* kSetConditionFunction = "__tutti_set_condition";

}  // namespace tutti::guest
