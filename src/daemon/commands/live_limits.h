// Changes of limits while clients run. NVIDIA's daemon leaves running clients as they are; this one updates them,
// unless it was started with --new-clients-only. Daemon thread only.
#pragma once

#include <functional>

#include "daemon/control/command_context.h"

namespace tutti::daemon {

// The limits that have changed. The others stay, including values set for single clients.
struct Changed {
  bool percentage = false;
  bool memory = false;
  bool priority = false;
};

// Recomputes these limits for all clients of the server, from its current settings and each client's own request, and
// sends the server those that differ. Calls `done` when it has answered.
void ApplyToRunningClients(const CommandContext& context, ServerHandle& server, Changed changed,
                           std::function<void()> done);

}  // namespace tutti::daemon
