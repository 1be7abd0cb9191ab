// Serialises the daemon's settings as commands, for the next program at an upgrade (succession.h). SM partitions have
// their own form: partition_commands.h.
#pragma once

#include <string>
#include <vector>

#include "daemon/servers/server_catalog.h"
#include "daemon/servers/server_settings.h"

namespace tutti::daemon {

std::vector<std::string> SettingsCommands(int protocol, const Defaults& defaults, const MemoryAccounting& accounting,
                                          const std::vector<NamedServer*>& servers);

}  // namespace tutti::daemon
