// From the code of one thread to the code of a warp.
//
// Takes a module as lower/ makes it (compiler/ir_contract.md) and replaces each function of it by one that executes 32
// lanes at once: values that are equal in all lanes stay scalars, the others become vectors of 32, and control flow that
// lanes disagree on becomes masks. Adds `tutti_kernel`, the descriptor the device looks for (guest/kernel_abi.h). What the
// result needs of the guest runtime it declares as tutti_* functions; link them in afterwards.
//
// How: schedule.h (order of blocks and masks), shape.h (what lanes have in common), function_emitter.h (the new code).
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"

namespace llvm {
class Module;
}  // namespace llvm

namespace tutti::compiler {

struct WidenOptions {
  std::string name;                // of the kernel, for its descriptor
  uint32_t block[3] = {0, 0, 0};   // threads per block; 0,0,0: any shape, at some cost
  bool avx512 = false;             // the target has AVX-512 F, BW, DQ and VL
  bool fence = true;               // check every address against the memory that the client owns; off for measurements only
  bool whole_pieces = true;        // what lies between two words of a warp's access can be read, too: the fence sees to it
};

// In place. On failure the module is spoilt, and the text says what in which function cannot be widened.
Status Widen(llvm::Module& module, const WidenOptions& options);

}  // namespace tutti::compiler
