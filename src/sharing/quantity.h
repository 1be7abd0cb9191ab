// Kubernetes' resource quantities: "2Gi", "500M", "1500m", "0.5".
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace tutti::sharing {

// Suffixes: none, m (thousandth), k M G T P E (powers of 1000), Ki Mi Gi Ti Pi Ei (of 1024). Not negative.
Result<double> ParseQuantity(std::string_view text);
// Rounded down to whole bytes; fails beyond 2^63.
Result<uint64_t> ParseBytes(std::string_view text);

}  // namespace tutti::sharing
