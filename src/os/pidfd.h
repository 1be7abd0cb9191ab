// A descriptor that becomes readable when a process ends.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/error.h"
#include "os/fd.h"

namespace tutti::os {

Result<Fd> OpenPidfd(pid_t pid);

// Waits until the process has ended and the kernel has closed its files, reaped or not; false: it has not in time.
bool AwaitEnd(int pidfd, int timeout_ms);

// True until the process has been reaped: its process id has not been reused, and /proc/PID still describes it.
bool KeepsItsNumber(int pidfd);

// The very process that connected the other end of a Unix socket, however late this is called. Fails before Linux 6.5,
// and if the process is gone.
Result<Fd> OpenPidfdOfConnector(int socket);

// The same, but falls back to OpenPidfd(SO_PEERCRED's pid), which by then may be another process's. Fails if the
// process is gone or not visible from here.
Result<Fd> OpenPeerPidfd(int socket);

// When the process was started, in the kernel's ticks since the machine was; 0 if none runs. Its number may be
// given to another one later, both together never are.
uint64_t StartTicks(pid_t pid);

}  // namespace tutti::os
