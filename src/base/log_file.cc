#include "base/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace tutti::log {

int OpenFile(const std::string& path) {
  const bool device = path.starts_with("/dev/");
  // O_NONBLOCK: opening a FIFO without a reader fails instead of blocking. It has no effect on a regular file.
  const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | (device ? 0 : O_NOFOLLOW | O_NONBLOCK);
  const int fd = open(path.c_str(), flags, 0644);
  if (fd < 0 || device) return fd;
  struct stat info{};
  const bool ours = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink <= 1 &&
                    (info.st_uid == geteuid() || info.st_uid == 0);
  if (ours) return fd;
  close(fd);
  errno = EPERM;
  return -1;
}

}  // namespace tutti::log
