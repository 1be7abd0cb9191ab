// Called functions in which lanes wait.
//
// A function that is not inlined, as it is recursive or called by its address, is run by the lanes that called it until
// all have returned: one that returns with a lock that another waits for in it would never give it back. Where lanes
// can take turns (turns.h) no such thing happens, so functions that may spin, and all that come to call them, become a
// part of the kernel (call_merger.h).
#pragma once

namespace llvm {
class Function;
}

namespace tutti::compiler {

// For a module in which what can be inlined has been. The functions that became part of the kernel are gone afterwards,
// also from !tutti.functions.
void MergeWhatSpins(llvm::Function& kernel);

}  // namespace tutti::compiler
