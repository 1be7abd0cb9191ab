// Names within functions, told apart from all others of the printed text.
//
// Names are resolved when a module is read, and again, by the driver, when what the fence prints is: what a nested
// scope called as the module calls a variable, the printed text must not, or the driver would read another program
// than the fence has checked.
#pragma once

#include <string_view>

#include "ptx/ast.h"

namespace tutti::compiler::fencing {

// A name of the fence's own or of the printer's, or a special register's.
bool IsReserved(std::string_view name);

// Gives each register, local variable, parameter and label a new name that has a reserved one, a symbol's, or the
// same as another one of the function.
void KeepNamesApart(ptx::Module& module);

}  // namespace tutti::compiler::fencing
