// A specification for the Container Device Interface: devices that podman, Docker, containerd and CRI-O put into a
// container by name, without Kubernetes. A shared device consists of environment variables and two directories.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/error.h"
#include "sharing/offer.h"

namespace tutti::sharing {

struct CdiOptions {
  std::string kind = "nvidia.com/gpu";              // vendor and class
  std::string host_pipe_directory;
  std::string container_pipe_directory = "/tmp/nvidia-mps";
  std::string host_library_directory;               // empty: the container has a driver's libcuda
  std::string container_library_directory = "/usr/local/nvidia/lib64";
  std::string host_smi = {};                        // our nvidia-smi; empty: none
  std::optional<int> percentage;                    // per client
  std::optional<uint64_t> memory_bytes;
};

// Fails on an invalid kind.
Status CheckCdiKind(const std::string& kind);

// JSON, of version 0.5.0: devices "0", "GPU-...", ..., and "all". Common edits come once, at the end.
std::string CdiSpec(const CdiOptions& options, std::span<const DeviceFacts> devices);

}  // namespace tutti::sharing
