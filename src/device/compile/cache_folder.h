// A directory that only we can write to. Code is loaded from it, so anybody who could put a file there could make the
// server run it.
#pragma once

#include <string>

#include "base/error.h"
#include "os/fd.h"

namespace tutti::device {

struct CacheFolder {
  std::string path;
  os::Fd fd;               // everything in it is reached through this
  bool temporary = false;  // made for this process: to be removed with it
};

// Opens `path`, making it (0700) and its parents if they are missing. Refuses a folder of another user, or one that
// others can write to, or a symbolic link.
Result<CacheFolder> OpenCacheFolder(const std::string& path);
// A new folder in $TMPDIR or /tmp, locked (flock) for as long as its descriptor is open. Removes those that processes
// of this user have left there that can no longer do it themselves: theirs are not locked any more.
Result<CacheFolder> MakeTemporaryCacheFolder();
// Removes a temporary folder with what is in it.
void RemoveCacheFolder(const CacheFolder& folder);

}  // namespace tutti::device
