// The folder in which servers keep compiled code, seen from outside: entries come and go while it is looked at.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include "base/error.h"

namespace tutti::cli {

struct CachedCode {
  std::string folder;
  size_t entries = 0;  // modules and kernels
  uint64_t bytes = 0;
  time_t first_used = 0, last_used = 0;  // the entries' last use: the earliest and the latest; 0 if there is none
};

// A folder that does not exist holds nothing. Files that are no entries are not counted.
Result<CachedCode> LookAtCachedCode(const std::string& folder);

// Removes the entries and returns what was removed. Servers go on with code that they have loaded.
Result<CachedCode> RemoveCachedCode(const std::string& folder);

}  // namespace tutti::cli
