// What a node offers to its orchestrator: resources, each a number of replicas of every device, and what a replica may
// use of it.
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
  std::string compute_capability;  // "8.0"; empty if not known
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
  bool replicated = false;        // its ids are UUID::N, else UUID
};

// The default is one replica for each device. As NVIDIA's: a replica gets the whole part of 100 / replicas and of the
// memory in MiB / replicas. Fails if the shares together are more than a device (times the ratios of oversubscription).
Result<std::vector<Offer>> MakeOffers(const Config& config, std::span<const DeviceFacts> devices);

// Whether replicas of an offer, or of several, are of different sizes, so that each container must be told its own.
bool SharesVary(const Config& config);

// "Tesla T4", "NVIDIA Tesla T4" and "nvidia-tesla-t4" are the same GPU: "tesla-t4".
std::string GpuNameKey(std::string_view name);

}  // namespace tutti::sharing
