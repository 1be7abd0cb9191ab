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
};

// Starts the server that stands beside this program's own file (never one found through PATH) as the plan's user, with
// that user's groups, its output in the plan's log file, and its end of a socket pair. It dies with this process. Only
// root may name another user than its own; whether the server program can be executed is learnt from its exit.
Result<LaunchedServer> LaunchServer(const control::Places& places, const ServerPlan& plan);

std::string LogOf(const control::Places& places, const ServerPlan& plan);

// The plan's log file for appending, made if it is not there; none if that fails.
os::Fd OpenServerLog(const control::Places& places, const ServerPlan& plan);

}  // namespace tutti::daemon
