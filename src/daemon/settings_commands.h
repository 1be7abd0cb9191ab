// The daemon's settings as the commands that make them, for a program that is to go on with them (succession.h).
#pragma once

#include <string>
#include <vector>

#include "daemon/server_settings.h"

namespace tutti::daemon {

std::vector<std::string> SettingsCommands(const Defaults& defaults);

}  // namespace tutti::daemon
