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
  bool temporary = false;  // made for this process, and removed with it
};

// Opens `path`, creating it (0700) and its parents if they are missing. Refuses a symbolic link, and a folder that
// another user owns or others can write to.
Result<CacheFolder> OpenCacheFolder(const std::string& path);
// A new folder in $TMPDIR or /tmp, locked (flock) while its descriptor is open. Removes the abandoned ones of this
// user: those that no process has locked any more.
Result<CacheFolder> MakeTemporaryCacheFolder();
// Removes a temporary folder and its contents.
void RemoveCacheFolder(const CacheFolder& folder);

}  // namespace tutti::device
