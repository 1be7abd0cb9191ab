// Each container's entitlement, if containers differ: the size of its replicas, or what its pod's annotations request
// instead.
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
  bool asked = false;  // by an annotation, which is exact; else an upper bound
};

// Namespace, pod, container, device UUID.
using Holding = std::tuple<std::string, std::string, std::string, std::string>;

struct Entitlements {
  std::map<Holding, Entitlement> granted;
  // a line for each annotation that cannot be granted; its container keeps its replicas' size
  std::vector<std::string> refused;
};

// Grants the replicas' sizes first, then, in the order of `holders`, each annotation for which the device still has
// room (100 percent and its memory, times the oversubscription ratios).
Entitlements Entitle(const sharing::Config& config, std::span<const sharing::DeviceFacts> devices,
                     std::span<const PodContainer> holders);

}  // namespace tutti::kubernetes
