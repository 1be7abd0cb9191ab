// Where this node's containers and the control daemon meet.
#pragma once

#include "base/error.h"
#include "control/places.h"
#include "sharing/config.h"

namespace tutti::kubernetes {

inline constexpr const char* kDefaultRoot = "/run/nvidia/mps";

// Makes the directories of `config` (whose flags.mps_root is set), so that any user in a container gets through them,
// and sets CUDA_MPS_PIPE_DIRECTORY and CUDA_MPS_LOG_DIRECTORY for the daemon, and nothing else of MPS. To be called
// while there are no other threads.
Result<control::Places> PrepareDirectories(const sharing::Config& config);

}  // namespace tutti::kubernetes
