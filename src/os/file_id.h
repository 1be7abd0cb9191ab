// Which file a name or a descriptor stands for, to tell whether it is still the one it was.
//
// The client library lives in strangers' processes. One that closes all descriptors, as a program does that becomes a
// daemon, closes the library's; the next file it opens may get the number. So before a number is used where the answer
// is not checked by the file itself, it is compared with what it was. The daemon compares what lies in its directory
// with what it put there.
#pragma once

#include <sys/stat.h>

#include <string>

namespace tutti::os {

// Of the inode. Sockets and files have inodes of their own; all of the kernel's nameless objects (eventfd, epoll, ...)
// share one.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;  // 0: there is none

  static FileId At(const std::string& path) {
    struct stat info{};
    return lstat(path.c_str(), &info) == 0 ? FileId{info.st_dev, info.st_ino} : FileId{};
  }
  // Async-signal-safe.
  static FileId Of(int fd) {
    struct stat info{};
    return fstat(fd, &info) == 0 ? FileId{info.st_dev, info.st_ino} : FileId{};
  }
  // Whether the number is this file now; never if there was none. Async-signal-safe.
  bool IsOf(int fd) const { return inode != 0 && Of(fd) == *this; }
  explicit operator bool() const { return inode != 0; }
  bool operator==(const FileId&) const = default;
};

}  // namespace tutti::os
