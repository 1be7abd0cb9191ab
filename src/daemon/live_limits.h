// Limits that are changed while clients run. NVIDIA's daemon leaves running clients as they are; this one makes them follow,
// unless it was started with --new-clients-only. Daemon thread only.
#pragma once

#include <functional>

#include "daemon/control_daemon.h"

namespace tutti::daemon {

// Reckons the limits of all clients of the server again, from its settings of now and from what each client asked for itself,
// and tells the server those that differ. `done` is called when it has answered.
void ApplyToRunningClients(ControlDaemon& daemon, ServerHandle& server, std::function<void()> done);

}  // namespace tutti::daemon
