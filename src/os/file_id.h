// Which file a name or a descriptor stands for, to tell whether it is still the one it was.
#pragma once

#include <sys/stat.h>

#include <string>

namespace tutti::os {

struct FileId {
  dev_t device = 0;
  ino_t inode = 0;  // 0: there is none

  static FileId At(const std::string& path) {
    struct stat info{};
    return lstat(path.c_str(), &info) == 0 ? FileId{info.st_dev, info.st_ino} : FileId{};
  }
  static FileId Of(int fd) {
    struct stat info{};
    return fstat(fd, &info) == 0 ? FileId{info.st_dev, info.st_ino} : FileId{};
  }
  explicit operator bool() const { return inode != 0; }
  bool operator==(const FileId&) const = default;
};

}  // namespace tutti::os
