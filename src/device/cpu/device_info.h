// A CPU device's properties: name, uuid and every CUdevice_attribute.
#pragma once

#include "device/cpu/settings.h"
#include "wire/channel_layout.h"

namespace tutti::device::cpu {

// The same machine and ordinal always give the same uuid and PCI address.
wire::DeviceInfo DescribeDevice(const CpuSettings& settings, uint32_t ordinal);

}  // namespace tutti::device::cpu
