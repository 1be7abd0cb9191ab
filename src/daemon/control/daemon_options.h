// What the command line says of the control daemon.
#pragma once

#include <string>

#include "control/places.h"

namespace tutti::daemon {

struct DaemonOptions {
  control::Places places;
  bool multi_user = false;           // all users share one server of the daemon's user
  int protocol = 2;                  // of the control commands
  bool static_partitioning = false;  // -S: every client needs an SM partition
  bool new_clients_only = false;     // limits that are set do not touch running clients, as with NVIDIA's daemon
  std::string policy = "share";
  std::string configuration;  // protocol 3: TOML file to apply once at the start; "": none
};

}  // namespace tutti::daemon
