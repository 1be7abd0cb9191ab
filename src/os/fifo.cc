#include "os/fifo.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tutti::os {

Result<Fd> MakeFifo(const std::string& path, mode_t mode) {
  unlink(path.c_str());
  if (mkfifo(path.c_str(), mode) != 0) return FailErrno("mkfifo " + path);
  Fd fd(open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return FailErrno("open " + path);
  struct stat info{};
  if (fstat(fd.get(), &info) != 0 || !S_ISFIFO(info.st_mode) || info.st_uid != geteuid()) {
    return Fail("somebody else has put something in the place of " + path);
  }
  fchmod(fd.get(), mode);
  return fd;
}

}  // namespace tutti::os
