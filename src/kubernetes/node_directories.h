// The directories that this node's containers share with the control daemon.
#pragma once

#include "base/error.h"
#include "control/places.h"
#include "sharing/config.h"

namespace tutti::kubernetes {

inline constexpr const char* kDefaultRoot = "/run/nvidia/mps";

// Creates the directories of `config` (whose flags.mps_root is set), traversable for any user in a container, and sets
// CUDA_MPS_PIPE_DIRECTORY and CUDA_MPS_LOG_DIRECTORY, but no other MPS variable, for the daemon. Call it before other
// threads exist.
Result<control::Places> PrepareDirectories(const sharing::Config& config);

}  // namespace tutti::kubernetes
