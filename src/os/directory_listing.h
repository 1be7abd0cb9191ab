// What lies in a directory that is held open by its descriptor.
#pragma once

#include <sys/stat.h>

#include <string>
#include <vector>

#include "base/error.h"

namespace tutti::os {

struct DirectoryEntry {
  std::string name;
  struct stat info;  // of a link itself
};

using DirectoryEntries = std::vector<DirectoryEntry>;

// In no order, without "." and "..". Entries that go meanwhile may be left out. The descriptor's position stays.
Result<DirectoryEntries> ListDirectory(int directory);

}  // namespace tutti::os
