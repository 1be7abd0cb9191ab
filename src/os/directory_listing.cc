#include "os/directory_listing.h"

#include <dirent.h>
#include <fcntl.h>

#include <memory>
#include <string_view>

#include "os/fd.h"

namespace tutti::os {

Result<DirectoryEntries> ListDirectory(int directory) {
  Fd listed(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!listed) return FailErrno("cannot list a directory");
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(listed.get()), closedir);
  if (stream == nullptr) return FailErrno("cannot list a directory");
  const int fd = listed.Release();  // the stream's
  DirectoryEntries entries;
  while (const dirent* const item = readdir(stream.get())) {
    const std::string_view name = item->d_name;
    struct stat info;
    if (name == "." || name == ".." || fstatat(fd, item->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    entries.push_back({std::string(name), info});
  }
  return entries;
}

}  // namespace tutti::os
