// What a CPU device says about itself: name, uuid and every CUdevice_attribute.
#pragma once

#include "device/cpu/settings.h"
#include "wire/channel_layout.h"

namespace tutti::device::cpu {

inline constexpr uint32_t kMaxThreadsPerBlock = 1024;
inline constexpr uint32_t kMaxThreadsPerSm = 2048;
inline constexpr uint32_t kMaxBlocksPerSm = 32;
inline constexpr uint32_t kSharedBytesPerBlock = 48u << 10;
inline constexpr uint32_t kSharedBytesPerSm = 164u << 10;
inline constexpr uint32_t kReservedSharedBytes = 1u << 10;
inline constexpr uint32_t kSharedBytesOptIn = kSharedBytesPerSm - kReservedSharedBytes;  // 163 KiB, as CC 8.0
inline constexpr uint32_t kMaxGrid[3] = {0x7fffffff, 65535, 65535};
inline constexpr uint32_t kMaxBlock[3] = {1024, 1024, 64};
inline constexpr uint32_t kConstantBytes = 64u << 10;

// The same machine and ordinal always give the same uuid and PCI address.
wire::DeviceInfo DescribeDevice(const CpuSettings& settings, uint32_t ordinal);

}  // namespace tutti::device::cpu
