// Changes a live setting on several servers at once.
#pragma once

#include <vector>

#include "daemon/control/command.h"
#include "daemon/control/command_context.h"

namespace tutti::daemon::commands {

// Sends `set` to all of `servers` and answers the call when all have answered: with nothing, or with the lines of those
// that refused or did not answer. A server that is still starting gets the setting too, before its first client.
void SetOnServers(const CommandCall& call, const std::vector<ServerHandle*>& servers, const wire::ServerSet& set);

}  // namespace tutti::daemon::commands
