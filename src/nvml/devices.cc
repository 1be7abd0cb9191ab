// Counting devices and finding them.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <string>

#include "nvml/entry.h"

using namespace tutti::nvml;

namespace {

constexpr size_t kMostBusIdBytes = 32;  // of a program's text

template <typename Predicate>
nvmlReturn_t FindIf(nvmlDevice_t* handle, Predicate is_it) {
  if (handle == nullptr) return Session::active() ? NVML_ERROR_INVALID_ARGUMENT : NVML_ERROR_UNINITIALIZED;
  return WithView([&](const View& view) {
    for (uint32_t i = 0; i < view.devices.size(); ++i) {
      if (!is_it(view.devices[i])) continue;
      *handle = HandleOf(view.devices[i]);
      return *handle != nullptr ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
    }
    return NVML_ERROR_NOT_FOUND;
  });
}

// "0000:01:00.0", with a domain of four or eight digits, or none, and perhaps no function. Nothing else before, between
// or behind, where sscanf takes blanks and signs.
bool IsBusId(const Device& device, const char* text) {
  const size_t length = strnlen(text, kMostBusIdBytes);
  if (length == kMostBusIdBytes || std::strspn(text, "0123456789abcdefABCDEF:.") != length) return false;
  unsigned domain = 0, bus = 0, slot = 0, function = 0;
  const auto all = [&](const char* form, auto*... numbers) {
    int end = -1;
    return std::sscanf(text, form, numbers..., &end) == sizeof...(numbers) && end >= 0 &&
           static_cast<size_t>(end) == length;
  };
  const bool is_read = all("%8x:%2x:%2x.%1x%n", &domain, &bus, &slot, &function) ||
                       all("%8x:%2x:%2x%n", &domain, &bus, &slot) ||
                       (domain = 0, all("%2x:%2x.%1x%n", &bus, &slot, &function)) ||
                       (domain = 0, function = 0, all("%2x:%2x%n", &bus, &slot));
  return is_read && function == 0 && domain == device.pci_domain && bus == device.pci_bus && slot == device.pci_device;
}

}  // namespace

NVML_EXPORT nvmlDeviceGetCount_v2(unsigned* count) {
  if (count == nullptr) return Session::active() ? NVML_ERROR_INVALID_ARGUMENT : NVML_ERROR_UNINITIALIZED;
  return WithView([&](const View& view) {
    *count = static_cast<unsigned>(view.devices.size());
    return NVML_SUCCESS;
  });
}
NVML_EXPORT nvmlDeviceGetCount(unsigned* count) { return nvmlDeviceGetCount_v2(count); }

NVML_EXPORT nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* handle) {
  if (handle == nullptr) return Session::active() ? NVML_ERROR_INVALID_ARGUMENT : NVML_ERROR_UNINITIALIZED;
  return WithView([&](const View& view) {
    if (index >= view.devices.size()) return NVML_ERROR_INVALID_ARGUMENT;
    *handle = HandleOf(view.devices[index]);
    return *handle != nullptr ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
  });
}
NVML_EXPORT nvmlDeviceGetHandleByIndex(unsigned index, nvmlDevice_t* handle) {
  return nvmlDeviceGetHandleByIndex_v2(index, handle);
}
NVML_EXPORT nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* handle) {
  if (uuid == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  return FindIf(handle, [&](const Device& device) { return device.uuid == uuid; });
}
NVML_EXPORT nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, nvmlDevice_t* handle) {
  if (bus_id == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  return FindIf(handle, [&](const Device& device) { return IsBusId(device, bus_id); });
}
NVML_EXPORT nvmlDeviceGetHandleByPciBusId(const char* bus_id, nvmlDevice_t* handle) {
  return nvmlDeviceGetHandleByPciBusId_v2(bus_id, handle);
}
// No device here has a serial number.
NVML_EXPORT nvmlDeviceGetHandleBySerial(const char* serial, nvmlDevice_t* handle) {
  if (serial == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  return FindIf(handle, [](const Device&) { return false; });
}

NVML_EXPORT nvmlDeviceGetIndex(nvmlDevice_t handle, unsigned* index) {
  return WithDevice(
      handle,
      [&](const View&, const Device&, uint32_t number) {
        *index = number;
        return NVML_SUCCESS;
      },
      index);
}
NVML_EXPORT nvmlDeviceGetUUID(nvmlDevice_t handle, char* uuid, unsigned length) {
  return WithDevice(
      handle, [&](const View&, const Device& device, uint32_t) { return Write(device.uuid, uuid, length); }, uuid);
}
NVML_EXPORT nvmlDeviceGetName(nvmlDevice_t handle, char* name, unsigned length) {
  return WithDevice(
      handle, [&](const View&, const Device& device, uint32_t) { return Write(device.name, name, length); }, name);
}
// The number of its /dev/nvidia file, as container tools expect one; there is no such file.
NVML_EXPORT nvmlDeviceGetMinorNumber(nvmlDevice_t handle, unsigned* number) {
  return nvmlDeviceGetIndex(handle, number);
}

NVML_EXPORT nvmlDeviceGetPciInfo_v3(nvmlDevice_t handle, nvmlPciInfo_t* info) {
  return WithDevice(
      handle,
      [&](const View&, const Device& device, uint32_t) {
        *info = {.domain = device.pci_domain, .bus = device.pci_bus, .device = device.pci_device};
        Fill(info->busId, device.BusId());
        Fill(info->busIdLegacy, fmt::format("{:04X}{}", device.pci_domain & 0xffff, device.BusId().substr(8)));
        return NVML_SUCCESS;
      },
      info);
}
NVML_EXPORT nvmlDeviceGetPciInfo_v2(nvmlDevice_t handle, nvmlPciInfo_v2_t* info) {
  return WithDevice(
      handle,
      [&](const View&, const Device& device, uint32_t) {
        *info = {.domain = device.pci_domain, .bus = device.pci_bus, .device = device.pci_device};
        Fill(info->busId, fmt::format("{:04X}{}", device.pci_domain & 0xffff, device.BusId().substr(8)));
        return NVML_SUCCESS;
      },
      info);
}
NVML_EXPORT nvmlDeviceGetPciInfo(nvmlDevice_t handle, nvmlPciInfo_v2_t* info) {
  return nvmlDeviceGetPciInfo_v2(handle, info);
}
NVML_EXPORT nvmlDeviceGetPciInfoExt(nvmlDevice_t handle, nvmlPciInfoExt_v1_t* info) {
  return WithDevice(
      handle,
      [&](const View&, const Device& device, uint32_t) {
        if (info->version != VersionOf<nvmlPciInfoExt_v1_t>(1)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        *info = {.version = info->version,
                 .domain = device.pci_domain,
                 .bus = device.pci_bus,
                 .device = device.pci_device,
                 .baseClass = 0x03,  // display controller
                 .subClass = 0x02};  // 3D
        Fill(info->busId, device.BusId());
        return NVML_SUCCESS;
      },
      info);
}
