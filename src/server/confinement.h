// The server's sandbox. A server runs code compiled from its clients' programs; a kernel that escapes its client's
// memory should find a process with few rights. All restrictions are permanent.
#pragma once

#include <span>

#include "base/error.h"

namespace tutti::server {

// Drops all capabilities, root's included. Call it before other threads exist, since capabilities are per thread. Does
// nothing in a process that has none.
Status DropCapabilities();

// Enters a Landlock domain: this thread, and those it creates, can no longer trace or inspect (by /proc either)
// processes outside, execute files or create device nodes. Where the kernel supports it, they cannot signal processes
// outside or connect to abstract sockets either. Fails without Landlock.
Status EnterDomain();

// Installs a seccomp filter in all threads: system calls that a server does not need fail with EPERM. From then on it
// can start no process or program and signal none, so whatever it needs must already run. Fails without seccomp.
//
// EnterDomain and FilterSystemCalls are no-ops in sanitizer builds, whose run-time inspects its own process.
Status FilterSystemCalls();
// System calls that are denied whatever their arguments.
std::span<const int> ForbiddenCalls();

}  // namespace tutti::server
