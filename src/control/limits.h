// The settings language (wire/limit_text.h) under the names that the control side knows it by.
#pragma once

#include "wire/limit_text.h"

namespace tutti::control {

using wire::FormatMemory;
using wire::FormatPercentage;
using wire::IsDeviceIdentifier;
using wire::kNoMemoryLimit;
using wire::MemoryLimits;
using wire::ParseMemory;
using wire::ParsePercentage;
using wire::ParsePriority;

}  // namespace tutti::control
