// What a server gives up for its whole life, since it runs code that was made from its clients' programs: should a
// kernel get out of its client's memory, it finds a process that can do little for it.
#pragma once

#include <span>

#include "base/error.h"

namespace tutti::server {

// Gives up all capabilities, those of root included, for good. Before there are other threads: each has its own. A
// process that has none is left as it is.
Status DropCapabilities();

// From now on this thread, and those it will make, cannot look into processes that are there already, by /proc neither,
// nor into any that those start; nor execute a file, nor make a device. Where the system can, they can signal nobody
// outside and reach no abstract socket. Fails where the system has no Landlock.
Status EnterDomain();

// From now on system calls that a server has no use for fail, with EPERM, in all threads: it starts no process and no
// program, and signals none. What it needs to have started is started before. Fails where the system has no such
// filters.
//
// EnterDomain and FilterSystemCalls do nothing in a build with a sanitizer, whose run-time inspects its own process.
Status FilterSystemCalls();
// Those that fail whatever their arguments are.
std::span<const int> ForbiddenCalls();

}  // namespace tutti::server
