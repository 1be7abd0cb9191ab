// The module level of PTX: directives, variables, function headers.
#pragma once

#include <vector>

#include "ptx/parse_context.h"
#include "ptx/parse_function.h"

namespace tutti::ptx {

// Fills the context's module but for the bodies, which are left in `bodies` by function index.
bool ParseModuleLevel(ParseContext& context, std::vector<PendingBody>* bodies);

}  // namespace tutti::ptx
