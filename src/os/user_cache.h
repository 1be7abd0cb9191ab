// This user's cache directory.
#pragma once

#include <string>

namespace tutti::os {

// TUTTI_CACHE_DIR, else /var/cache/tutti for root, else tutti in XDG_CACHE_HOME or in .cache of the home directory
// (HOME, or what the user database says). "" if there is none. The folder need not exist.
std::string UserCacheFolder();

}  // namespace tutti::os
