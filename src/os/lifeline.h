// A lifeline: makes one process end with another, however the other ends, and even while it is stopped itself.
//
// PR_SET_PDEATHSIG does not work where threads come and go: it fires when the *thread* that started the child ends. A
// lifeline is a pipe that nobody writes to. When its last write end is closed, as the kernel does for a killed process,
// the kernel signals the process at the read end; SIGKILL reaches even a stopped one.
#pragma once

#include <utility>

#include "base/error.h"
#include "os/fd.h"

namespace tutti::os {

struct Lifeline {
  Fd held;  // by the process that must live; close-on-exec, never passed on
  Fd watched;  // by the process that ends with it: for EndWith
};
Result<Lifeline> CreateLifeline();

// Has this process killed when the `held` end of the lifeline is closed; at once if it already is. The descriptor must
// stay open. Does nothing if it is no pipe: this process was given no lifeline.
void EndWith(int watched);

}  // namespace tutti::os
