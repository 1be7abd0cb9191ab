// Links several modules into one: the translation units of a program built with separate compilation.
//
//   A name with .visible, .weak or .common means the same in all units; without, it is private to its unit, and renamed
//   if another unit has it too ("name$u2"). Kernels are always visible.
//   An .extern declaration resolves to another unit's definition. An unresolved one stays: its users cannot be
//   compiled, the rest can. Of several .weak definitions the first is taken, a strong definition before all; of .common
//   variables the largest.
//
// The vendor's device runtime (libcudadevrt), which comes with every such program, is left out: it needs a driver that
// is not there. Its functions are services of the device (guest/device_runtime.h).
#pragma once

#include <vector>

#include "base/error.h"
#include "ptx/ast.h"

namespace tutti::ptx {

// Error: CUDA_ERROR_INVALID_PTX, where two units define one name, or declare it with different shapes.
Result<Module> Link(std::vector<Module> units);

}  // namespace tutti::ptx
