// What a server needs of the limit on open files. It inherits the daemon's, so the daemon sees at its start whether
// that will do.
#pragma once

#include <cstdint>

#include "base/error.h"

namespace tutti::control {

// logs, epolls, compilers, clients that are just being attached or taken down
inline constexpr uint64_t kFilesOfServer = 96;
// socket, pidfd, doorbell, window, and a file that it has sent and that cannot be closed yet
inline constexpr uint64_t kFilesPerClient = 5;

// Raises this process's limit as far as the system lets it, and returns what it is then. Fails if a server would take
// no client with that: the line names the number that is needed and where it is set.
Result<uint64_t> RaiseOpenFiles();

}  // namespace tutti::control
