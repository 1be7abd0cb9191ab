// Time. All durations and instants inside the project are nanoseconds of CLOCK_MONOTONIC, in variables ending in _ns.
#pragma once

#include <cstdint>
#include <ctime>

namespace tutti {

inline uint64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

// An instant that never comes.
inline constexpr uint64_t kNever = ~uint64_t{0};

// The CPU's hint for one iteration of a spin-wait loop.
inline void CpuRelax() { __builtin_ia32_pause(); }

}  // namespace tutti
