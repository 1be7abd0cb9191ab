// nvidia-smi -q.
#pragma once

#include <string>
#include <vector>

#include "nvidia_smi/gpu.h"

namespace tutti::nvidia_smi {

// `sections`: of MEMORY, UTILIZATION, COMPUTE and PIDS; empty: all, and what the device is.
std::string Details(const System& system, const std::vector<Gpu>& gpus, const std::vector<std::string>& sections);

}  // namespace tutti::nvidia_smi
