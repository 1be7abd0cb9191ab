// How Spaces share a device (device/cpu/schedule/policy_*.cc). Not every device can be shared in every way.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

namespace tutti::device {

enum class Policy { kShare, kPriority, kTimeSlice, kPartition };
inline constexpr Policy kAllPolicies[] = {Policy::kShare, Policy::kPriority, Policy::kTimeSlice, Policy::kPartition};
inline constexpr std::string_view kPolicyNames[] = {"share", "priority", "time_slice", "partition"};
inline std::string_view PolicyName(Policy policy) { return kPolicyNames[static_cast<size_t>(policy)]; }
inline std::optional<Policy> ParsePolicy(std::string_view name) {
  const auto* const found = std::ranges::find(kPolicyNames, name);
  if (found == std::end(kPolicyNames)) return std::nullopt;
  return kAllPolicies[found - std::begin(kPolicyNames)];
}

}  // namespace tutti::device
