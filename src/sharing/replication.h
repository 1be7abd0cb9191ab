// The body of `sharing.mps` and `sharing.timeSlicing` in the configuration of NVIDIA's device plugin.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "sharing/document.h"

namespace tutti::sharing {

// The maximum number of MPS clients per device, as for Cast AI, GKE and NVIDIA's plugin.
inline constexpr int64_t kMaxReplicas = 48;

struct AllDevices {};
// All, the first N, or a list of indices ("0"), MIG indices ("0:1") and UUIDs.
using DeviceSelection = std::variant<AllDevices, int64_t, std::vector<std::string>>;

struct ReplicatedResource {
  std::string name;    // full: "nvidia.com/gpu"
  std::string rename;  // full; empty: the name stays
  DeviceSelection devices;
  int64_t replicas = 0;
};

struct Replication {
  bool rename_by_default = false;
  bool fail_requests_greater_than_one = true;
  std::vector<ReplicatedResource> resources;
};

// The validation texts are NVIDIA's, after file and line. `warnings` gets what NVIDIA's plugin accepts and then
// ignores. `fail_default` is the default of failRequestsGreaterThanOne; a single replica is an error unless
// `single_replica`.
Result<Replication> ReadReplication(const Value& value, bool fail_default, bool single_replica,
                                    std::vector<std::string>& warnings);

}  // namespace tutti::sharing
