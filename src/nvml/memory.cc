// Memory of a device, and how busy it is. The total is what a program of this process may allocate; used is what the
// processes that this one sees hold.
#include "nvml/entry.h"

using namespace tutti::nvml;

NVML_EXPORT nvmlDeviceGetMemoryInfo(nvmlDevice_t handle, nvmlMemory_t* memory) {
  return WithDevice(
      handle,
      [&](const View& view, const Device& device, uint32_t index) {
        const uint64_t used = view.used_bytes(index);
        *memory = {.total = device.total_bytes, .free = device.total_bytes - used, .used = used};
        return NVML_SUCCESS;
      },
      memory);
}
NVML_EXPORT nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t handle, nvmlMemory_v2_t* memory) {
  return WithDevice(
      handle,
      [&](const View& view, const Device& device, uint32_t index) {
        if (memory->version != VersionOf<nvmlMemory_v2_t>(2)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        const uint64_t used = view.used_bytes(index);
        *memory = {.version = memory->version,
                   .total = device.total_bytes,
                   .reserved = 0,
                   .free = device.total_bytes - used,
                   .used = used};
        return NVML_SUCCESS;
      },
      memory);
}

// `memory` is the part of the time in which the device's memory was in use. Nobody counts that here, and the structure
// cannot say so: 0.
NVML_EXPORT nvmlDeviceGetUtilizationRates(nvmlDevice_t handle, nvmlUtilization_t* utilization) {
  return WithDevice(
      handle,
      [&](const View& view, const Device&, uint32_t index) {
        *utilization = {.gpu = static_cast<unsigned>(view.busy(index) * 100 + 0.5), .memory = 0};
        return NVML_SUCCESS;
      },
      utilization);
}
