// Applies protocol 3's configuration file at the daemon's start: creates its servers, namespaces, partitions and
// features.
#pragma once

#include "control/configuration.h"
#include "daemon/control/command_context.h"

namespace tutti::daemon {

// Call before Run. Fails on the first object that cannot be created; the daemon then does not start.
Status ApplyConfiguration(const CommandContext& context, const control::Configuration& configuration);

}  // namespace tutti::daemon
