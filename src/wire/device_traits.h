// What a device can do and what is done elsewhere for it, so that nobody assumes the CPU device.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace tutti::wire {

enum DeviceTraits : uint32_t {
  kDeviceAnyShape = 1u << 0,  // a kernel prepared for one block shape is prepared for all
  kDeviceAsksOccupancy = 1u << 1,  // how many blocks fit on an SM is asked (kOccupancy), not computed
  kDeviceNoArrays = 1u << 2,  // its kernels do not read arrays and textures as clients lay them out
  kDeviceMachineCode = 1u << 3,  // it loads machine code of its architecture, not PTX alone
  // Limits that hold on it, besides those of memory.
  kDeviceEndsKernels = 1u << 4,  // the time of a kernel: one that runs for too long is ended, and no other client's
  kDevicePercentages = 1u << 5,  // active thread percentages
  kDevicePartitions = 1u << 6,  // SM partitions, and green contexts
  kDevicePriorities = 1u << 7,  // clients'
  // What keeps clients apart.
  kDeviceSharedContexts = 1u << 8,  // clients of a user share a context of the driver
  kDeviceFencedKernels = 1u << 9,  // there kernels check their own addresses
  kDeviceMakesArrays = 1u << 10,  // it makes arrays and textures itself (wire/arrays.h); with kDeviceNoArrays
  // Its streams are given what comes next before what they have is done, and tell what is done piece by piece: where
  // somebody may wait for a position, and for nothing behind it, it is told (kEventRecord).
  kDeviceNeedsPoints = 1u << 11,
};
inline constexpr uint32_t kAllDeviceTraits = (1u << 12) - 1;
inline constexpr uint32_t kAllDeviceLimits =
    kDeviceEndsKernels | kDevicePercentages | kDevicePartitions | kDevicePriorities;

// What users may count on: that a trait is set, or is not.
struct Capability {
  uint32_t trait;
  bool set;
  std::string_view name;   // that machines read
  std::string_view limit;  // of limits: in words
};
inline constexpr Capability kCapabilities[] = {
    {kDeviceMachineCode, true, "machine_code", ""},
    {kDeviceNoArrays, false, "arrays", ""},
    {kDeviceEndsKernels, true, "kernel_time_limits", "the time of kernels"},
    {kDevicePercentages, true, "active_thread_percentages", "active thread percentages"},
    {kDevicePartitions, true, "sm_partitions", "SM partitions"},
    {kDevicePriorities, true, "client_priorities", "priorities of clients"},
    {kDeviceSharedContexts, true, "shared_contexts", ""},
    {kDeviceFencedKernels, true, "fenced_kernels", ""},
};

inline std::vector<std::string_view> Capabilities(uint32_t traits) {
  if ((traits & kDeviceMakesArrays) != 0) traits &= ~uint32_t{kDeviceNoArrays};
  std::vector<std::string_view> names = {"ptx"};
  for (const Capability& one : kCapabilities) {
    if (((traits & one.trait) != 0) == one.set) names.push_back(one.name);
  }
  return names;
}

// The limits that do not hold, in words; empty: all do.
inline std::vector<std::string_view> MissingLimits(uint32_t traits) {
  std::vector<std::string_view> names;
  for (const Capability& one : kCapabilities) {
    if (!one.limit.empty() && (traits & one.trait) == 0) names.push_back(one.limit);
  }
  return names;
}

}  // namespace tutti::wire
