// The address fence as PTX: a module in, PTX text out in which no thread reaches memory that is not its client's.
//
// For devices whose code we do not generate. What the CPU device does in machine code (widen/fence.h) is done here with
// instructions before each access, and instead of `trap`, which on a GPU ends the whole context with everybody in it, a
// thread that would go astray records its fault and exits (guest/gpu/fenced_ptx.h).
//
// An instruction, or a modifier of an access, that the fence does not know is refused. Calls of vprintf stay as they
// are: the driver prints, and reads the strings where they point. Who shares a context among clients refuses kernels
// that print.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ptx/ast.h"

namespace tutti::compiler {

struct FencedModule {
  std::string ptx;
  std::vector<std::string> functions;  // names, by FenceFault::function
  std::vector<std::pair<std::string, std::string>> refused;  // functions that cannot be fenced, and why
};

// A function that cannot be fenced gets a body that faults (CUDA_ERROR_ILLEGAL_INSTRUCTION): whoever launches kernels
// should look at `refused` before and say why. Fails if the module has names of
// the fence's own or is not one of 64-bit addresses.
Result<FencedModule> FencePtx(ptx::Module module);

}  // namespace tutti::compiler
