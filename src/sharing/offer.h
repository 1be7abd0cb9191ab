// What a node offers to its orchestrator: resources, each with a number of replicas per device and the share of a
// replica.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "sharing/config.h"

namespace tutti::sharing {

struct DeviceFacts {
  std::string uuid;
  std::string name;
  uint64_t total_bytes = 0;
  uint32_t sm_count = 0;
  std::string compute_capability;  // "8.0"; empty if unknown
};

// One device's part in an offer.
struct Portion {
  int64_t replicas = 1;
  std::optional<double> percentage;      // of a replica; nothing: no limit
  std::optional<uint64_t> memory_bytes;  // whole MiB; nothing: no limit
};

struct Offer {
  std::string resource;
  std::vector<Portion> portions;  // by device, in their order
  bool replicated = false;        // its ids are UUID::N instead of UUID
};

// The default is one replica per device. As with NVIDIA, a replica gets 100 / replicas percent and memory in MiB /
// replicas, rounded down. Fails if the shares add up to more than a device (times the oversubscription ratios).
Result<std::vector<Offer>> MakeOffers(const Config& config, std::span<const DeviceFacts> devices);

// Whether replicas differ in size, within an offer or between several, so that each container needs its own limits.
bool SharesVary(const Config& config);

// "Tesla T4", "NVIDIA Tesla T4" and "nvidia-tesla-t4" are the same GPU: "tesla-t4".
std::string GpuNameKey(std::string_view name);

}  // namespace tutti::sharing
