// Limits of a block, an SM and a grid of a CPU device: those of compute capability 8.0.
#pragma once

#include <cstdint>

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

}  // namespace tutti::device::cpu
