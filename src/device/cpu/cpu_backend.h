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

// Where such windows are fewer than a server's clients may be, a part of the arena is for windows of an eighth: whoever
// comes when the others are taken has less than all of the device's memory, in place of nothing.
struct WindowPlan {
  wire::WindowShape window, smaller;
  uint64_t smaller_begin = 0;  // an address; the arena's end: there are none
};
WindowPlan PlanWindows(const wire::WindowShape& window);

}  // namespace tutti::device::cpu
