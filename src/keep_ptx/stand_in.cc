#include "keep_ptx/stand_in.h"

#include <unistd.h>

#include <cstring>

namespace tutti::keep_ptx {

void StandIns::LookIn(const char* directory) {
  const size_t length = std::strlen(directory);
  for (Entry& entry : entries_) {
    const size_t name_length = std::strlen(entry.name);
    if (length + 1 + name_length >= sizeof entry.path) continue;
    std::memcpy(entry.path, directory, length);
    entry.path[length] = '/';
    std::memcpy(entry.path + length + 1, entry.name, name_length + 1);
    entry.there = access(entry.path, R_OK) == 0;
  }
}

const char* StandIns::For(const char* loaded) const {
  const char* const slash = std::strrchr(loaded, '/');
  const char* const name = slash != nullptr ? slash + 1 : loaded;
  for (const Entry& entry : entries_) {
    const size_t length = std::strlen(entry.name);
    if (entry.there && std::strncmp(name, entry.name, length) == 0 && (name[length] == '\0' || name[length] == '.'))
      return entry.path;
  }
  return nullptr;
}

}  // namespace tutti::keep_ptx
