// `exit`: where a lane ends.
//
// In the kernel it goes where lanes go that return. In a called function it is taken off the warp's lanes and returns;
// behind every call that can come to such an end, lanes that have ended go to their own function's return, up to the
// kernel's. So functions may end their lanes whatever their size, and whether they are recursive or called by address.
#pragma once

namespace llvm {
class Module;
}

namespace tutti::compiler {

// Replaces tutti.exit in all functions of the module.
void ExitByReturning(llvm::Module& module);

}  // namespace tutti::compiler
