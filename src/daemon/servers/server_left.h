// A running server that goes over from an older program of this daemon to a newer one (succession.h).
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/servers/server_launch.h"
#include "daemon/servers/server_plan.h"
#include "wire/server_messages.h"

namespace tutti::daemon {

// As the older program passes it on. Descriptors stay its own, in case it has to go on after all.
struct ServerLeaving {
  pid_t pid = 0;
  int process_fd = -1;
  int channel_fd = -1;
  ServerPlan plan;
  uint64_t started_ns = 0;
  std::vector<wire::ServedDevice> devices;
};

// As the newer one finds it.
struct ServerLeft {
  LaunchedServer launched;
  ServerPlan plan;
  uint64_t started_ns = 0;
  bool understands = true;  // it is of our version of the messages; else it is only waited for
  std::vector<wire::ServedDevice> devices;
};

}  // namespace tutti::daemon
