// What each container is entitled to, where containers differ: the size of the replicas it holds, or what its pod's
// annotations ask for instead.
//
//   tutti.dev/threads: "40"       percent of a device        tutti.dev/threads.NAME: of the container NAME alone
//   tutti.dev/memory: "3Gi"       of each device it holds    tutti.dev/memory.NAME
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "kubernetes/pod_directory.h"
#include "sharing/offer.h"

namespace tutti::kubernetes {

struct Entitlement {
  std::optional<double> percentage;
  std::optional<uint64_t> memory_bytes;
  bool asked = false;  // by an annotation: then it holds exactly, else as an upper bound
};

// Namespace, pod, container, device UUID.
using Holding = std::tuple<std::string, std::string, std::string, std::string>;

struct Entitlements {
  std::map<Holding, Entitlement> granted;
  // a line for each annotation that cannot be met; its container keeps its replicas' size
  std::vector<std::string> refused;
};

// The replicas' sizes are granted first; an annotation is granted if the device still has room for it (100 percent and
// its memory, times the ratios of oversubscription), in the order of `holders`.
Entitlements Entitle(const sharing::Config& config, std::span<const sharing::DeviceFacts> devices,
                     std::span<const PodContainer> holders);

}  // namespace tutti::kubernetes
