// What a container gets with its replicas: the environment and mounts of NVIDIA's device plugin, and the additions of
// our opt-in keys.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "device_plugin.pb.h"
#include "sharing/config.h"
#include "sharing/offer.h"

namespace tutti::kubernetes {

// The inputs of a resource's allocations.
struct AllocationContext {
  const sharing::Config* config = nullptr;
  const sharing::Offer* offer = nullptr;
  std::span<const sharing::DeviceFacts> devices;
  std::string host_pipe_directory;  // of the container's claim (claim_book.h)
};

// Error texts are NVIDIA's, since they reach a pod's status.
Result<v1beta1::ContainerAllocateResponse> Allocate(const AllocationContext& context,
                                                    const std::vector<std::string>& ids);

// The sum of these replicas' limits, by device index; nothing: no limit.
struct DeviceLimit {
  size_t device = 0;
  std::optional<double> percentage;
  std::optional<uint64_t> memory_bytes;
};
std::vector<DeviceLimit> LimitsOf(const sharing::Offer& offer, std::span<const sharing::DeviceFacts> devices,
                                  const std::vector<std::string>& ids);

}  // namespace tutti::kubernetes
