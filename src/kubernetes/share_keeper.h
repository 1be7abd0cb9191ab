// Holds running clients to what their containers are entitled to. Needed where containers differ: the daemon's defaults
// must then allow the largest share, and a container could drop the environment that makes its own smaller.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>

#include "control/daemon_connection.h"
#include "control/report.h"
#include "kubernetes/pod_directory.h"
#include "sharing/config.h"

namespace tutti::kubernetes {

// Of the daemon keeper's thread.
class ShareKeeper {
 public:
  // `pods` must outlive the keeper.
  ShareKeeper(sharing::Config config, PodDirectory& pods) : config_(std::move(config)), pods_(pods) {}

  void Apply(control::DaemonConnection& daemon, const control::Report& report);

 private:
  const sharing::Config config_;
  PodDirectory& pods_;
  std::set<std::string> said_;  // refusals that are in the log
  // by server, client and device: the last command
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::string> sent_;
};

}  // namespace tutti::kubernetes
