// The identity of a file behind a name or descriptor, to detect that it has been replaced.
//
// The client library runs inside other people's programs. A program that closes all descriptors, as one that daemonizes
// does, closes the library's too, and the next file it opens may reuse the number. So the library compares the identity
// before it uses a descriptor in a way the file itself would not check. The daemon compares the files in its directory
// with those it created.
#pragma once

#include <sys/stat.h>

#include <string>

namespace tutti::os {

// Compares inodes. Sockets and files have one each; the kernel's anonymous objects (eventfd, epoll, ...) all share one.
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
  // Whether the descriptor refers to this file now; false if there was none. Async-signal-safe.
  bool IsOf(int fd) const { return inode != 0 && Of(fd) == *this; }
  explicit operator bool() const { return inode != 0; }
  bool operator==(const FileId&) const = default;
};

}  // namespace tutti::os
