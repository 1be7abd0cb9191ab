// vprintf, and what an assertion says, as functions of a fenced module's own, in PTX text: they write records to the
// client's FIFO (guest/gpu/print_fifo.h). A driver's own would read strings wherever they point.
#pragma once

#include <string>

#include "compiler/fence/check_functions.h"

namespace tutti::compiler::fencing {

// (result) = (format, arguments, PrintKind, function, line, low, high)
inline constexpr const char* kPrintFunction = "__tutti_print";
// (message, file, line of it, name of the function, function, line, low, high)
inline constexpr const char* kAssertFunction = "__tutti_assert";

// With kOwnSpace in it.
std::string PrintFunctions(const Meanings& meanings);

}  // namespace tutti::compiler::fencing
