// Whether a descriptor is still the file that we opened.
//
// The library lives in strangers' processes. One that closes all descriptors, as a program does that becomes a daemon,
// closes ours; the next file it opens may get the number. So before a number is used where the answer is not checked by
// the file itself, it is compared with what it was.
#pragma once

#include <sys/types.h>

namespace tutti::os {

// Of the inode. Sockets and files have inodes of their own; all of the kernel's nameless objects (eventfd, epoll, ...)
// share one. Nothing is like the identity of a number that was not open.
class FileIdentity {
 public:
  explicit FileIdentity(int fd);
  // Async-signal-safe.
  bool IsOf(int fd) const;

 private:
  bool known_ = false;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace tutti::os
