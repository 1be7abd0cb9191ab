// Aliases for the control side of the parsers in wire/limit_text.h.
#pragma once

#include "wire/limit_text.h"

namespace tutti::control {

using wire::FormatMemory;
using wire::FormatPercentage;
using wire::IsDeviceIdentifier;
using wire::kNoMemoryLimit;
using wire::MemoryLimits;
using wire::MemorySharing;
using wire::MemorySharingName;
using wire::ParseMemory;
using wire::ParseMemorySharing;
using wire::ParsePercentage;
using wire::ParsePriority;

}  // namespace tutti::control
