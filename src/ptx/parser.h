// PTX text to a Module.
//
// Errors are contained. A function whose body cannot be parsed or does not pass the verifier has Function::error set
// and no body; the rest of the module works. Only an error at module level (a broken declaration, a brace that is never
// closed) fails the whole text.
//
// The text may be anything: hostile input costs time and memory proportional to its size.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "ptx/ast.h"

namespace tutti::ptx {

// The module does not refer to `text` afterwards. Error: CUDA_ERROR_INVALID_PTX, with line, column and caret.
Result<Module> Parse(std::string_view text);

// The errors of all functions, one after the other; empty if there are none. For the JIT log.
std::string FunctionErrors(const Module& module);

}  // namespace tutti::ptx
