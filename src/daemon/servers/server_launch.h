// Starting a server process as a user.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/error.h"
#include "control/places.h"
#include "daemon/servers/server_plan.h"
#include "os/fd.h"

namespace tutti::daemon {

struct LaunchedServer {
  pid_t pid = 0;
  os::Fd process;  // pidfd
  os::Fd channel;  // our end of the message connection
  std::string rendezvous = {};  // where it waits when we have died (rendezvous.h); "": it dies with us
};

// Starts the server program next to this program's own file (never one found through PATH) as the plan's user, with
// that user's groups, its output in the plan's log file, and its end of a socket pair. `rendezvous` is the socket on
// which it waits for the next daemon if this process dies; -1: it dies with this process. Only root may name another
// user than its own. If the server program cannot be executed, its exit status says so.
Result<LaunchedServer> LaunchServer(const control::Places& places, const ServerPlan& plan, int rendezvous);

std::string LogOf(const control::Places& places, const ServerPlan& plan);

// Opens the plan's log file for appending and creates it if missing; none if that fails.
os::Fd OpenServerLog(const control::Places& places, const ServerPlan& plan);

}  // namespace tutti::daemon
