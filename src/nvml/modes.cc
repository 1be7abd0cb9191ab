// Modes of a device: who may compute on it, and what it never is.
#include "nvml/entry.h"

using namespace tutti;
using namespace tutti::nvml;

NVML_EXPORT nvmlDeviceGetComputeMode(nvmlDevice_t handle, int* mode) {
  return WithDevice(
      handle,
      [&](const View&, const Device& device, uint32_t) {
        *mode = static_cast<int>(device.compute_mode);
        return NVML_SUCCESS;
      },
      mode);
}

// For root of the machine, whose file it is. A container's root would write a file that nobody reads.
NVML_EXPORT nvmlDeviceSetComputeMode(nvmlDevice_t handle, int mode) {
  return WithDevice(handle, [&](const View& view, const Device& device, uint32_t) {
    if (mode < 0 || mode > 3) return NVML_ERROR_INVALID_ARGUMENT;
    if (mode == 1) return NVML_ERROR_NOT_SUPPORTED;  // a thread's own: NVIDIA's driver has given it up, too
    if (!view.administrator || !control::ComputeModes::Set(device.uuid, static_cast<control::ComputeMode>(mode)))
      return NVML_ERROR_NO_PERMISSION;
    Session::Forget();
    return NVML_SUCCESS;
  });
}

// The device stays up with no process on it, as under persistence mode.
NVML_EXPORT nvmlDeviceGetPersistenceMode(nvmlDevice_t handle, unsigned* mode) {
  return WithDevice(
      handle,
      [&](const View&, const Device&, uint32_t) {
        *mode = kEnabled;
        return NVML_SUCCESS;
      },
      mode);
}
// There is no display.
NVML_EXPORT nvmlDeviceGetDisplayMode(nvmlDevice_t handle, unsigned* mode) {
  return WithDevice(
      handle,
      [&](const View&, const Device&, uint32_t) {
        *mode = kDisabled;
        return NVML_SUCCESS;
      },
      mode);
}
NVML_EXPORT nvmlDeviceGetDisplayActive(nvmlDevice_t handle, unsigned* mode) {
  return nvmlDeviceGetDisplayMode(handle, mode);
}
// A device here is never split, and its handles are never of a part.
NVML_EXPORT nvmlDeviceIsMigDeviceHandle(nvmlDevice_t handle, unsigned* is_part) {
  return nvmlDeviceGetDisplayMode(handle, is_part);
}
NVML_EXPORT nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t handle, unsigned* count) {
  return nvmlDeviceGetDisplayMode(handle, count);
}
