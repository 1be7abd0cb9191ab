// The body of a function: declarations, labels, nested scopes, instructions.
#pragma once

#include <string_view>
#include <vector>

#include "ptx/lexer.h"
#include "ptx/parse_context.h"

namespace tutti::ptx {

// `function` has its header; `start` is behind the opening brace. `local_names` are the names of
// locals 0, 1, ... (returns, then parameters) as written. On failure the error is in the context and the function's
// body is empty.
bool ParseBody(ParseContext& context, LexerState start, Function* function,
               const std::vector<std::string_view>& local_names);

// Takes everything out of a body that was parsed and found wrong.
void ClearBody(Function* function);

}  // namespace tutti::ptx
