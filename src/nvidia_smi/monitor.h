// One sample of `nvidia-smi dmon` and `pmon`, and the matrix of `topo -m`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nvidia_smi/gpu.h"

namespace tutti::nvidia_smi {

// Groups of columns, a letter each (-s): of devices p, u, c, v, m, e and t, of processes u and m.
inline constexpr std::string_view kDeviceGroups = "pucvmet", kProcessGroups = "um";
inline constexpr std::string_view kUsualDeviceGroups = "pucm", kUsualProcessGroups = "um";

std::string DeviceHeader(std::string_view groups);
std::string DeviceSample(const std::vector<Gpu>& gpus, std::string_view groups);
std::string ProcessHeader(std::string_view groups);
std::string ProcessSample(const std::vector<Gpu>& gpus, std::string_view groups);

std::string TopologyMatrix(const std::vector<Gpu>& gpus);

}  // namespace tutti::nvidia_smi
