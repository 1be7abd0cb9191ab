// The address fence in PTX ("software fault isolation"): takes a module and returns PTX text in which no thread reaches
// memory that is not its client's.
//
// For devices whose machine code we do not generate. The CPU device's checks (compiler/widen/memory/address_check.h)
// become instructions before each access. `trap` would end the whole GPU context and everybody in it, so a thread with
// a stray access records its fault and exits instead (guest/gpu/fenced_ptx.h).
//
// An instruction, or a modifier of an access, that the fence does not know is refused.
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

// What else a device lets kernels do.
struct FenceOptions {
  // Calls of vprintf stay as they are: the driver prints, and reads the strings wherever they point. Else what kernels
  // print, and what assertions say, goes to a FIFO (guest/gpu/print_fifo.h).
  bool prints = true;
  // Recursion, and calls by address: the stack may end in a fault of the hardware. Else functions have numbers in place
  // of addresses, and a call by one is a call of one of those of which the module takes the address.
  bool unbounded_stack = true;
  // Kernels have no parameter more than they were written with; else one by which a launch can be withdrawn before it
  // has begun (guest/gpu/fenced_ptx.h).
  bool own_parameters = true;
};
// What nobody can do to others in one context of a GPU's driver.
inline constexpr FenceOptions kSharedContext{.prints = false, .unbounded_stack = false, .own_parameters = false};

// A function that cannot be fenced, or calls one, gets a body that faults (CUDA_ERROR_ILLEGAL_INSTRUCTION): before
// launching a kernel look at `refused`, and report the reason. Fails if the module has names of the fence's own, or not
// 64-bit addresses.
Result<FencedModule> FencePtx(ptx::Module module, const FenceOptions& options = {});

}  // namespace tutti::compiler
