// What a server gives up for its whole life, since it runs code that was made from its clients' programs: should a kernel
// get out of its client's memory, it finds a process that can do little for it.
#pragma once

#include "base/error.h"

namespace tutti::server {

// Gives up all capabilities, those of root included, for good. Before there are other threads: each has its own. A process
// that has none is left as it is.
Status DropCapabilities();

// From now on no program that this process starts gets rights it has not itself, and system calls that a server has no use
// for fail with EPERM: in all threads, and in the compilers it starts. Fails where the system has no such filters.
//
// Does nothing in a build with a sanitizer, whose run-time inspects its own process.
Status FilterSystemCalls();

}  // namespace tutti::server
