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

// Reckons these limits of all clients of the server again, from its settings of now and from what each client asked for
// itself, and tells the server those that differ. `done` is called when it has answered.
void ApplyToRunningClients(const CommandContext& context, ServerHandle& server, Changed changed,
                           std::function<void()> done);

}  // namespace tutti::daemon
