// Parses values of protocol 3, from command lines and configuration files.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "control/limits.h"

namespace tutti::control {

// Servers, namespaces and partitions: up to 64 lower-case letters, digits and underscores.
Status CheckObjectName(std::string_view what, std::string_view name);

// "true" or "false".
Result<bool> ParseBoolean(std::string_view text);

// "4G", "512M" or "1024K" for every device, or a list as in "0=2G,GPU-1234=512M"; "none" for no limit.
Result<MemoryLimits> ParseMemoryLimits(std::string_view text);

}  // namespace tutti::control
