// What nvidia-smi prints without options, the table of devices and processes; and the list of -L.
#pragma once

#include <string>
#include <vector>

#include "nvidia_smi/gpu.h"

namespace tutti::nvidia_smi {

std::string Table(const System& system, const std::vector<Gpu>& gpus);
std::string List(const std::vector<Gpu>& gpus);  // "GPU 0: name (UUID: GPU-...)"

std::string Now();  // "Mon Nov 23 08:00:00 2026"

}  // namespace tutti::nvidia_smi
