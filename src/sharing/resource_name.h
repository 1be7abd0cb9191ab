// Names of extended resources, validated like NVIDIA's device plugin and the API server do.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace tutti::sharing {

inline constexpr size_t kMaxResourceNameBytes = 63;

// "gpu" becomes "nvidia.com/gpu". Fails if the name is longer than 63 characters or its last part is no DNS subdomain.
Result<std::string> FullResourceName(std::string_view name);

// "nvidia.com/gpu.shared": "gpu.shared".
std::string_view LastPart(std::string_view resource);

}  // namespace tutti::sharing
