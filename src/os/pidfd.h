// A descriptor that becomes readable when a process ends.
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "os/fd.h"

namespace tutti::os {

Result<Fd> OpenPidfd(pid_t pid);

// True until the process has been reaped: its process id has not been reused, and /proc/PID still describes it.
bool KeepsItsNumber(int pidfd);

// The process at the other end of a Unix socket, without the race of process id reuse. Falls back to
// OpenPidfd(SO_PEERCRED's pid) on kernels before 6.5. Fails if the process is gone or not visible from here.
Result<Fd> OpenPeerPidfd(int socket);

}  // namespace tutti::os
