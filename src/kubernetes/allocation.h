// What a container is given with its replicas: environment and mounts, as NVIDIA's device plugin gives them, and what
// our opt-in keys add.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "device_plugin.pb.h"
#include "sharing/config.h"
#include "sharing/offer.h"

namespace tutti::kubernetes {

// Everything an allocation of one resource depends on.
struct AllocationContext {
  const sharing::Config* config = nullptr;
  const sharing::Offer* offer = nullptr;
  std::span<const sharing::DeviceFacts> devices;
  std::string host_pipe_directory;  // of the container's claim (claim_book.h)
};

// The texts of failures are NVIDIA's, as they reach a pod's status.
Result<v1beta1::ContainerAllocateResponse> Allocate(const AllocationContext& context,
                                                    const std::vector<std::string>& ids);

// The limits that these replicas add up to, by device index; nothing where there is none.
struct DeviceLimit {
  size_t device = 0;
  std::optional<double> percentage;
  std::optional<uint64_t> memory_bytes;
};
std::vector<DeviceLimit> LimitsOf(const sharing::Offer& offer, std::span<const sharing::DeviceFacts> devices,
                                  const std::vector<std::string>& ids);

}  // namespace tutti::kubernetes
