// Finds where the order of schedule.h could deadlock at a warp operation or barrier.
//
// Such an operation needs lanes that may still be pending elsewhere when it is reached. If those can reach an operation
// of the same kind there, or another barrier, the program is correct on a GPU, where threads meet wherever they are
// (both sides of a branch, different iterations of a loop, inside a loop and behind it). Whether it happens is known
// only at run time; apart_copy.h handles it then.
#pragma once

#include <llvm/ADT/SetVector.h>
#include <llvm/IR/Instructions.h>

#include "compiler/widen/analysis/schedule.h"

namespace tutti::compiler {

struct Partings {
  llvm::SmallSetVector<llvm::CallInst*, 8> sites;  // operations and barriers at which lanes may arrive diverged
  llvm::SmallSetVector<llvm::BasicBlock*, 16> gates;  // blocks where other lanes may be pending meanwhile
  bool has_barriers = false;  // among the sites
};

Partings FindPartings(llvm::Function& function, const Schedule& schedule);
// The same for a function whose lanes take turns at all of its operations (turns.h): lanes may arrive diverged at each
// that has a counterpart, and are pending nowhere but in the loop of turns.
Partings FindPartingsOfTurns(llvm::Function& function);

// The number of operations that FindPartings would look at.
size_t CountMeetings(const llvm::Function& function);

}  // namespace tutti::compiler
