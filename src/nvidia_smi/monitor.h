// One sample of `nvidia-smi dmon` and `pmon`, and the matrix of `topo -m`.
#pragma once

#include <string>
#include <vector>

#include "nvidia_smi/gpu.h"

namespace tutti::nvidia_smi {

std::string DeviceHeader();
std::string DeviceSample(const std::vector<Gpu>& gpus);
std::string ProcessHeader();
std::string ProcessSample(const std::vector<Gpu>& gpus);

std::string TopologyMatrix(const std::vector<Gpu>& gpus);

}  // namespace tutti::nvidia_smi
