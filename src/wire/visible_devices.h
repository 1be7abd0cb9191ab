// CUDA_VISIBLE_DEVICES: of a daemon, which of the machine's devices its servers serve; of a program, which of those it
// sees, and in what order.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wire/channel_layout.h"

namespace tutti::wire {

// Indices into `devices` of those that `list` names. As in CUDA, entries are ordinals or (prefixes of) "GPU-<uuid>";
// the first entry that names nothing, and a repeated one, end the list.
std::vector<uint32_t> VisibleDevices(std::string_view list, std::span<const DeviceInfo> devices);

// "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
std::string UuidText(const uint8_t (&uuid)[16]);

}  // namespace tutti::wire
