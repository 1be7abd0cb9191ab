// A running server that one daemon hands over to the next: an older program to a newer one in the same process
// (life/succession.h), or a daemon that has died to the one started after it (life/state_file.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/servers/server_launch.h"
#include "daemon/servers/server_plan.h"
#include "daemon/servers/server_settings.h"
#include "wire/server_messages.h"

namespace tutti::daemon {

// As the older program passes it on. It keeps its descriptors, in case exec fails.
struct ServerLeaving {
  pid_t pid = 0;
  int process_fd = -1;
  int channel_fd = -1;
  std::string rendezvous;
  uint64_t start_ticks = 0;  // this and the next two as in ServerRecord
  uint32_t version = 0;
  bool forced = false;
  bool silent = false;  // it was to be adopted, and has not said anything yet
  uint32_t next_serial = 1;  // of a request
  uint32_t unheard = 0;      // answers still to come, for which nobody waits
  ServerPlan plan;
  uint64_t started_ns = 0;
  std::vector<wire::ServedDevice> devices;
};

// More than there can be.
inline constexpr uint32_t kUnknownlyMany = 1u << 31;

// As the newer one finds it.
struct ServerLeft {
  LaunchedServer launched;
  ServerPlan plan;
  uint64_t started_ns = 0;
  uint64_t start_ticks = 0;  // 0: the older program did not say
  uint32_t version = 0;      // if it is not ours, we only wait for its end
  bool forced = false;
  bool silent = false;
  uint32_t next_serial = 1;
  uint32_t unheard = kUnknownlyMany;
  std::vector<wire::ServedDevice> devices;
};

// As a daemon records it for the next one. The next one relies on the record alone: a server is under its user's
// control, and is believed only about its clients.
struct ServerRecord {
  std::string rendezvous;
  pid_t pid = 0;
  uint64_t start_ticks = 0;  // os::StartTicks
  uint32_t version = 0;  // of the messages
  ServerPlan plan;
  uint64_t started_ns = 0;
  std::string started_for;
  bool stopping = false;
  bool forced = false;  // to end at once
  std::string policy;
  ServerSettings settings;
};

}  // namespace tutti::daemon
