// The embedded CPU device: SMs are threads, kernels are compiled to this machine's code.
#pragma once

#include <memory>

#include "device/compile/code_source.h"
#include "device/cpu/settings.h"
#include "device/device.h"

namespace tutti::device::cpu {

// Starts the workers. Destroy all Spaces before the backend.
std::unique_ptr<Backend> CreateCpuBackend(const CpuSettings& settings, std::shared_ptr<CodeSource> source);

// Address space for one client's window.
wire::WindowShape WindowOf(const CpuSettings& settings);

}  // namespace tutti::device::cpu
