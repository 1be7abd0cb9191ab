// What generated code depends on besides its input: the compiler program, the interface it is compiled against, and the
// processor. Part of every cache key, so that a cache may outlive an update and travel to another machine.
#pragma once

#include <string>

#include "device/compile/cache_key.h"

namespace tutti::device {

// A compiler that is not there has an identity too; starting it will tell.
CacheKey CompilerIdentity(const std::string& compiler);

}  // namespace tutti::device
