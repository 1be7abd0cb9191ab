// The MPS part of the opaque configuration of NVIDIA's DRA driver (kind GpuConfig or MigDeviceConfig), and its
// translation into commands for a control daemon.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"

namespace tutti::sharing {

struct GpuConfig {
  bool mps = false;  // else time slicing, or nothing
  std::optional<int> percentage;
  std::optional<uint64_t> memory_bytes;                    // of every device
  std::map<std::string, uint64_t> memory_bytes_by_device;  // by index into the claim's devices, or UUID
  bool multi_user = false;                                 // the daemon is started with -M
};

// The texts are the driver's, after file and line.
Result<GpuConfig> ReadGpuConfig(std::string_view text, const std::string& name);

// The commands for a daemon that serves the claim's devices, as the driver's template pipes them in. Fails if a named
// device is not in the claim.
Result<std::vector<std::string>> GpuConfigCommands(const GpuConfig& config, std::span<const std::string> uuids);

}  // namespace tutti::sharing
