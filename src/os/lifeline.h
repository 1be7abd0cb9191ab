// A process that ends with another one, however that one ends, and even if it is stopped itself.
//
// PR_SET_PDEATHSIG will not do where threads come and go: it acts when the *thread* ends that started the child. A
// lifeline is a pipe that nobody writes to: when the last end to write is closed, as the kernel does for a process that
// was killed, the kernel signals the process at the other end, and SIGKILL reaches one that is stopped.
#pragma once

#include <utility>

#include "base/error.h"
#include "os/fd.h"

namespace tutti::os {

struct Lifeline {
  Fd held;  // by the process that the other one ends with; close-on-exec, to be passed to nobody
  Fd watched;  // by the process that ends: for EndWith
};
Result<Lifeline> CreateLifeline();

// This process is killed when the lifeline that `watched` belongs to is let go; at once if it has been. The descriptor
// must stay open. Does nothing if it is no pipe: nobody gave us a lifeline.
void EndWith(int watched);

}  // namespace tutti::os
