// Lowers `exit`.
//
// In the kernel the lane goes to the return. In a called function it is removed from the warp's lanes and the function
// returns; behind every call that may end lanes, those that have ended go to their own function's return, and so on up
// to the kernel's. So any function may end lanes, whatever its size, recursive or called by address.
#pragma once

namespace llvm {
class Module;
}

namespace tutti::compiler {

// Replaces tutti.exit in all functions of the module.
void ExitByReturning(llvm::Module& module);

}  // namespace tutti::compiler
