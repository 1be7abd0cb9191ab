// The server's sandbox. A server runs code compiled from its clients' programs; a kernel that escapes its client's
// memory should find a process with few rights. All restrictions are permanent.
#pragma once

#include <vector>

#include "base/error.h"

namespace tutti::server {

// Drops all capabilities, root's included. Call it before other threads exist, since capabilities are per thread. Does
// nothing in a process that has none.
Status DropCapabilities();

// Enters a domain (os/confinement/domain.h) in which nothing is executed.
Status EnterDomain();

// Installs a filter in all threads (os/confinement/call_filter.h): whatever the server needs must already run. Another
// process starts compilers and executors (os/spawner.h).
Status FilterSystemCalls();
// System calls that are denied whatever their arguments.
std::vector<int> ForbiddenCalls();

}  // namespace tutti::server
