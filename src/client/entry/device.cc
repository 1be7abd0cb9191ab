// Devices.
#include "client/context/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "client/context/context.h"
#include "client/context/current.h"
#include "client/entry/entries.h"
#include "client/memory/memory_pool.h"
#include "cuda/device_attribute.h"

namespace tutti::client::entry {
namespace {

// Copies a text, cut to fit, with its end.
CUresult CopyText(std::string_view text, char* out, int room) {
  if (out == nullptr || room <= 0) return CUDA_ERROR_INVALID_VALUE;
  const size_t length = std::min(text.size(), static_cast<size_t>(room) - 1);
  std::memcpy(out, text.data(), length);
  out[length] = '\0';
  return CUDA_SUCCESS;
}

std::string PciBusId(const Device& device) {
  return fmt::format("{:04X}:{:02X}:{:02X}.0", device.Attribute(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID),
                     device.Attribute(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID),
                     device.Attribute(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID));
}

}  // namespace

CUresult cuDeviceGetCount(int* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = Device::count();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (Device::Find(ordinal) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice ordinal) {
  const Device* device = Device::Find(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (value == nullptr || attribute <= 0 || attribute >= static_cast<int>(wire::kDeviceAttributes))
    return CUDA_ERROR_INVALID_VALUE;
  *value = device->Attribute(attribute);
  if (attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) {
    // With a percentage per context the number follows the current one.
    const auto context = CurrentContext();
    if (context && &(*context)->device() == device && (*context)->active())
      *value = static_cast<int>((*context)->sm_count());
  }
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetExecAffinitySupport(int* supported, CUexecAffinityType type, CUdevice ordinal) {
  if (Device::Find(ordinal) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (supported == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *supported = type == CU_EXEC_AFFINITY_TYPE_SM_COUNT;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int room, CUdevice ordinal) {
  const Device* device = Device::Find(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  return CopyText({device->info().name, strnlen(device->info().name, sizeof device->info().name)}, name, room);
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice ordinal) {
  const Device* device = Device::Find(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(uuid->bytes, device->info().uuid, sizeof uuid->bytes);
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice ordinal) {
  const Device* device = Device::Find(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *bytes = device->total_bytes();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char* text, int room, CUdevice ordinal) {
  const Device* device = Device::Find(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  return CopyText(PciBusId(*device), text, room);
}

CUresult cuDeviceGetByPCIBusId(CUdevice* found, const char* text) {
  if (found == nullptr || text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  unsigned domain = 0, bus = 0, slot = 0;
  if (std::sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3) {
    domain = 0;
    if (std::sscanf(text, "%x:%x", &bus, &slot) != 2) return CUDA_ERROR_INVALID_VALUE;
  }
  for (int i = 0; i < Device::count(); ++i) {
    if (PciBusId(*Device::Find(i)) != fmt::format("{:04X}:{:02X}:{:02X}.0", domain, bus, slot)) continue;
    *found = i;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice ordinal) {
  if (minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult status = cuDeviceGetAttribute(major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, ordinal);
      status != 0)
    return status;
  return cuDeviceGetAttribute(minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, ordinal);
}

CUresult cuDeviceGetProperties(CUdevprop* properties, CUdevice ordinal) {
  const Device* device = Device::Find(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto get = [device](int attribute) { return device->Attribute(attribute); };
  *properties = {.maxThreadsPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
                 .maxThreadsDim = {get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X), get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y),
                                   get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)},
                 .maxGridSize = {get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X), get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y),
                                 get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)},
                 .sharedMemPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
                 .totalConstantMemory = get(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY),
                 .SIMDWidth = get(CU_DEVICE_ATTRIBUTE_WARP_SIZE),
                 .memPitch = get(CU_DEVICE_ATTRIBUTE_MAX_PITCH),
                 .regsPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK),
                 .clockRate = get(CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
                 .textureAlign = get(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT)};
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t* width, CUarray_format, unsigned channels, CUdevice ordinal) {
  const Device* device = Device::Find(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (width == nullptr || (channels != 1 && channels != 2 && channels != 4)) return CUDA_ERROR_INVALID_VALUE;
  *width = static_cast<size_t>(device->Attribute(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH));
  return CUDA_SUCCESS;
}

}  // namespace tutti::client::entry
