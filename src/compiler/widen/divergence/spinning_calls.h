// Called functions in which lanes wait.
//
// A function that is not inlined, because it is recursive or called by address, runs until all lanes that called it
// have returned: a lane that returns holding a lock, for which another waits inside, would never release it. Functions
// whose lanes take turns (turns.h) have no such problem. So functions that may spin, and all that may call them, become
// a part of the kernel (call_merger.h).
#pragma once

namespace llvm {
class Function;
}

namespace tutti::compiler {

// For a module that has been inlined as far as possible. The functions that became part of the kernel are gone
// afterwards, also from !tutti.functions.
void MergeWhatSpins(llvm::Function& kernel);

}  // namespace tutti::compiler
