// Enforces containers' entitlements on running clients. It is needed if containers differ: the daemon's defaults must
// then allow the largest share, and a container could drop the environment variables that lower its own.
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

// Daemon keeper's thread only.
class ShareKeeper {
 public:
  // `pods` must outlive the keeper.
  ShareKeeper(sharing::Config config, PodDirectory& pods) : config_(std::move(config)), pods_(pods) {}

  void Apply(control::DaemonConnection& daemon, const control::Report& report);

 private:
  const sharing::Config config_;
  PodDirectory& pods_;
  std::set<std::string> said_;  // refusals already logged
  // by server, client and device: the last command
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::string> sent_;
};

}  // namespace tutti::kubernetes
