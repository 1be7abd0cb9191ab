// What a server grants the clients that connect to it. A server starts with a copy of the daemon's defaults; later
// changes apply to its own settings.
#pragma once

#include <string>

#include "control/limits.h"
#include "wire/server_messages.h"

namespace tutti::daemon {

struct ServerSettings {
  double active_thread_percentage = 100;
  bool overrides_process = false;  // the percentage applies even to a client that asked for less
  control::MemoryLimits memory_limits;
};

struct Defaults {
  ServerSettings server;      // of servers that start later
  int client_priority = 0;    // of clients that connect later and set none
  control::MemorySharing memory_sharing = control::MemorySharing::kSameUser;  // of clients that connect later
  std::string policy = "share";
  bool trace = false;
  uint64_t kernel_ns = 0;  // time limit of a client's kernel; 0: none
  bool context_share = true;  // protocol 3's feature of that name

  // From CUDA_MPS_ACTIVE_THREAD_PERCENTAGE, CUDA_MPS_PINNED_DEVICE_MEM_LIMIT and CUDA_MPS_CLIENT_PRIORITY. Unreadable
  // values are logged and ignored.
  static Defaults FromEnvironment();
};

// The effective percentage of a client that asked for `own_percentage`.
double EffectivePercentage(const ServerSettings& settings, double own_percentage);

// The client's effective limits: the minimum of what its server allows and what it asked for. A client can only lower
// its limits; unreadable values are logged, with what applies instead, and count as unset.
wire::Attach EffectiveAttach(const wire::Hello& hello, const ServerSettings& settings, int default_priority,
                             const std::vector<wire::ServedDevice>& devices);

}  // namespace tutti::daemon
