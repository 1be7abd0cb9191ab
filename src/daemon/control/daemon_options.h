// The control daemon's command line options.
#pragma once

#include <string>

#include "control/places.h"

namespace tutti::daemon {

struct DaemonOptions {
  control::Places places;
  bool multi_user = false;           // all users share one server of the daemon's user
  int protocol = 2;                  // of the control commands
  bool static_partitioning = false;  // -S: every client needs an SM partition
  bool new_clients_only = false;     // new limits do not affect running clients, as with NVIDIA's daemon
  bool fresh = false;                // takes over no settings of a daemon that was killed
  bool servers_die = false;          // with the daemon, however it ends
  std::string policy = "share";
  std::string configuration;  // protocol 3: TOML file to apply once at the start; "": none
};

}  // namespace tutti::daemon
