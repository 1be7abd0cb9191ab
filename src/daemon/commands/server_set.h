// Changing a live setting of several servers at once.
#pragma once

#include <vector>

#include "daemon/control/command.h"
#include "daemon/control/command_context.h"

namespace tutti::daemon::commands {

// Sends `set` to all of `servers` and answers the call when all have answered: with nothing, or with the lines of those
// that refused or did not answer. Servers that are not ready yet get the setting as well, before their first client.
void SetOnServers(const CommandCall& call, const std::vector<ServerHandle*>& servers, const wire::ServerSet& set);

}  // namespace tutti::daemon::commands
