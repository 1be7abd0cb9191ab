// Everything besides its input that generated code depends on: the compiler program, the interface it is compiled
// against, and the processor. Part of every cache key, so a cache may outlive an update and move to another machine.
#pragma once

#include <string>

#include "device/compile/cache_key.h"

namespace tutti::device {

// A missing compiler has an identity, too; starting it reports the error.
CacheKey CompilerIdentity(const std::string& compiler);

}  // namespace tutti::device
