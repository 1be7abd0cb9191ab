// The daemon's settings as the commands that make them, for a program that is to go on with them (succession.h). SM
// partitions are not among them: partition_commands.h.
#pragma once

#include <string>
#include <vector>

#include "daemon/servers/server_catalog.h"
#include "daemon/servers/server_settings.h"

namespace tutti::daemon {

std::vector<std::string> SettingsCommands(int protocol, const Defaults& defaults, const MemoryAccounting& accounting,
                                          const std::vector<NamedServer*>& servers);

}  // namespace tutti::daemon
