// What a server gives to the clients that connect to it. A server starts with the daemon's defaults of that moment;
// afterwards its own are set.
#pragma once

#include <string>

#include "control/limits.h"
#include "wire/server_messages.h"

namespace tutti::daemon {

struct ServerSettings {
  double active_thread_percentage = 100;
  bool overrides_process = false;  // the percentage holds even for a client that asked for less
  control::MemoryLimits memory_limits;
};

struct Defaults {
  ServerSettings server;      // of servers that start later
  int client_priority = 0;    // of clients that connect later and do not say
  std::string policy = "share";
  bool trace = false;
  uint64_t kernel_ns = 0;  // that a kernel of a client may run; 0: for ever
  bool context_share = true;  // protocol 3's feature of that name

  // From CUDA_MPS_ACTIVE_THREAD_PERCENTAGE, CUDA_MPS_PINNED_DEVICE_MEM_LIMIT and CUDA_MPS_CLIENT_PRIORITY. A value that
  // cannot be read is logged and left out.
  static Defaults FromEnvironment();
};

// What holds for a client that asked for `own_percentage` itself.
double EffectivePercentage(const ServerSettings& settings, double own_percentage);

// What the client gets: the least of what its server allows and what it asked for itself. A client can only lower its
// limits; values that cannot be read are logged, with what holds instead, and count as not given.
wire::Attach EffectiveAttach(const wire::Hello& hello, const ServerSettings& settings, int default_priority,
                             const std::vector<wire::ServedDevice>& devices);

}  // namespace tutti::daemon
