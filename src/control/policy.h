// The names of sharing policies. The server implements them (device/device.h).
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace tutti::control {

inline constexpr std::array<std::string_view, 4> kPolicyNames{"share", "priority", "time_slice", "partition"};
inline constexpr std::string_view kPolicyNamesText = "share, priority, time_slice or partition";

inline bool IsPolicy(std::string_view name) { return std::ranges::find(kPolicyNames, name) != kPolicyNames.end(); }

}  // namespace tutti::control
