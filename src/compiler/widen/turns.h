// Functions whose lanes wait for each other (lane_conflict.h, partings.h): lanes take turns. Lanes that wait in called
// functions are no concern here: spinning_calls.h has made these a part of the kernel.
#pragma once

#include "base/error.h"
#include "compiler/widen/partings.h"

namespace tutti::compiler {

// Rewrites the function so that no lane waits for ever for one that could go on. It is in the form of prepare.h before,
// and needs to be brought into that form again. `barriers_apart`: its lanes may come to different barriers.
Status TakeTurns(llvm::Function& function, bool barriers_apart);

// The same for functions that most likely never need it: lanes take turns in a copy of the function, which they all go
// to when some of them come to one of the sites and others that are needed there do not. Nothing is changed if the
// function is very long or has very many sites.
Status TakeTurnsWhenApart(llvm::Function& function, const Partings& partings);

}  // namespace tutti::compiler
