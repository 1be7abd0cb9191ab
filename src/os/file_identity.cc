#include "os/file_identity.h"

#include <sys/stat.h>

namespace tutti::os {

FileIdentity::FileIdentity(int fd) {
  struct stat info;
  known_ = fstat(fd, &info) == 0;
  if (!known_) return;
  device_ = info.st_dev;
  inode_ = info.st_ino;
}

bool FileIdentity::IsOf(int fd) const {
  struct stat info;
  return known_ && fstat(fd, &info) == 0 && info.st_dev == device_ && info.st_ino == inode_;
}

}  // namespace tutti::os
