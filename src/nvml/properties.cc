// Properties of a device: its architecture, cores and fields.
#include "nvml/entry.h"

using namespace tutti::nvml;

namespace {

constexpr unsigned kUnknownBrand = 0;
constexpr unsigned kUnknownArchitecture = ~0u;
constexpr unsigned kLanesOfAWarp = 32;

// NVML's numbers of architectures, by the compute capability that the device reports.
unsigned ArchitectureOf(const Device& device) {
  const unsigned capability = device.compute_major * 10 + device.compute_minor;
  if (capability >= 100) return 10;
  if (capability >= 90) return 9;
  if (capability == 89) return 8;
  if (capability >= 80) return 7;
  if (capability == 75) return 6;
  if (capability >= 70) return 5;
  return kUnknownArchitecture;
}

}  // namespace

NVML_EXPORT nvmlDeviceGetCudaComputeCapability(nvmlDevice_t handle, int* major, int* minor) {
  return WithDevice(
      handle,
      [&](const View&, const Device& device, uint32_t) {
        *major = static_cast<int>(device.compute_major);
        *minor = static_cast<int>(device.compute_minor);
        return NVML_SUCCESS;
      },
      major, minor);
}
NVML_EXPORT nvmlDeviceGetArchitecture(nvmlDevice_t handle, unsigned* architecture) {
  return WithDevice(
      handle,
      [&](const View&, const Device& device, uint32_t) {
        *architecture = ArchitectureOf(device);
        return NVML_SUCCESS;
      },
      architecture);
}
NVML_EXPORT nvmlDeviceGetBrand(nvmlDevice_t handle, unsigned* brand) {
  return WithDevice(
      handle,
      [&](const View&, const Device&, uint32_t) {
        *brand = kUnknownBrand;
        return NVML_SUCCESS;
      },
      brand);
}
// A warp runs as one vector: a lane of it is a core, and a program has those of its SMs.
NVML_EXPORT nvmlDeviceGetNumGpuCores(nvmlDevice_t handle, unsigned* cores) {
  return WithDevice(
      handle,
      [&](const View&, const Device& device, uint32_t) {
        *cores = device.given_sms() * kLanesOfAWarp;
        return NVML_SUCCESS;
      },
      cores);
}
NVML_EXPORT nvmlDeviceGetAttributes_v2(nvmlDevice_t handle, nvmlDeviceAttributes_t* attributes) {
  return WithDevice(
      handle,
      [&](const View&, const Device& device, uint32_t) {
        *attributes = {.multiprocessorCount = device.given_sms(), .memorySizeMB = device.total_bytes >> 20};
        return NVML_SUCCESS;
      },
      attributes);
}
NVML_EXPORT nvmlDeviceGetAttributes(nvmlDevice_t handle, nvmlDeviceAttributes_t* attributes) {
  return nvmlDeviceGetAttributes_v2(handle, attributes);
}
// No field of the list has a value here; each entry says so.
NVML_EXPORT nvmlDeviceGetFieldValues(nvmlDevice_t handle, int count, nvmlFieldValue_t* values) {
  return WithDevice(
      handle,
      [&](const View&, const Device&, uint32_t) {
        if (count <= 0) return NVML_ERROR_INVALID_ARGUMENT;
        for (int i = 0; i < count; ++i) values[i].nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
        return NVML_SUCCESS;
      },
      values);
}
