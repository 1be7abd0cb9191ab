// Protocol 3's configuration file, made into servers, namespaces, partitions and features when the daemon starts.
#pragma once

#include "control/configuration.h"
#include "daemon/control/control_daemon.h"

namespace tutti::daemon {

// Before Run. Fails on the first thing that cannot be made; the daemon then does not start.
Status ApplyConfiguration(ControlDaemon& daemon, const control::Configuration& configuration);

}  // namespace tutti::daemon
