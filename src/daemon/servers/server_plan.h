// How to start a server: its name in the daemon, its user, its settings.
#pragma once

#include <sys/types.h>

#include <string>

namespace tutti::daemon {

struct ServerPlan {
  std::string name;  // "uid_1000" for the server of a user who names none
  uid_t uid = 0;
  std::string visible_devices;  // its CUDA_VISIBLE_DEVICES; empty: the daemon's
  std::string log_file;         // empty: server.log in the log directory
};

inline ServerPlan PlanOfUser(uid_t uid) { return {.name = "uid_" + std::to_string(uid), .uid = uid}; }

}  // namespace tutti::daemon
