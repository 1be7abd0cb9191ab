// A descriptor that becomes readable when a process ends.
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "os/fd.h"

namespace tutti::os {

Result<Fd> OpenPidfd(pid_t pid);

// Nobody has collected the process: its number is still its own, and what /proc says under that number is of it.
bool KeepsItsNumber(int pidfd);

// The process at the other end of a Unix socket, without the race that its number could have been given to another
// since. Falls back to OpenPidfd(SO_PEERCRED's pid) on kernels before 6.5. Fails if the process is gone or not visible
// from here.
Result<Fd> OpenPeerPidfd(int socket);

}  // namespace tutti::os
