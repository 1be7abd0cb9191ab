// The entries of a directory that a descriptor holds open.
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

// In no order, without "." and "..". May leave out entries that are removed meanwhile. Keeps the descriptor's position.
Result<DirectoryEntries> ListDirectory(int directory);

}  // namespace tutti::os
