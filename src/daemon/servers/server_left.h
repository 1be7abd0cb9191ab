// A running server that an older program of this daemon hands over to a newer one (succession.h).
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/servers/server_launch.h"
#include "daemon/servers/server_plan.h"
#include "wire/server_messages.h"

namespace tutti::daemon {

// As the older program passes it on. It keeps its descriptors, in case exec fails.
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
  bool understands = true;  // it speaks our version of the protocol; else we only wait for its end
  std::vector<wire::ServedDevice> devices;
};

}  // namespace tutti::daemon
