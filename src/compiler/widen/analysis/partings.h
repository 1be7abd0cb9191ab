// Where the order of schedule.h may make lanes wait for lanes that wait for them.
//
// An operation that names other lanes, or a barrier, needs lanes that may be pending elsewhere when it is reached. If
// they may come to an operation of the same kind there, or to another barrier, the program is right on a GPU, where
// threads meet wherever they are: the two ways of a branch, different rounds of a loop, behind a loop and in it.
// Whether it ever comes to that is known only when the kernel runs; what is done then is in apart_copy.h.
#pragma once

#include <llvm/ADT/SetVector.h>
#include <llvm/IR/Instructions.h>

#include "compiler/widen/analysis/schedule.h"

namespace tutti::compiler {

struct Partings {
  llvm::SmallSetVector<llvm::CallInst*, 8> sites;     // operations and barriers that lanes may come to apart
  llvm::SmallSetVector<llvm::BasicBlock*, 16> gates;  // where others may be pending then
  bool has_barriers = false;                          // among the sites
};

Partings FindPartings(llvm::Function& function, const Schedule& schedule);
// Of a function whose lanes take turns at all of them (turns.h): each may be come to apart that has one like it, and
// nobody is pending anywhere but in the loop of turns.
Partings FindPartingsOfTurns(llvm::Function& function);

// How much there is in it that FindPartings would look at.
size_t CountMeetings(const llvm::Function& function);

}  // namespace tutti::compiler
