#include "os/lifeline.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tutti::os {

Result<Lifeline> CreateLifeline() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return FailErrno("pipe");
  return Lifeline{.held = Fd(ends[1]), .watched = Fd(ends[0])};
}

void EndWith(int watched) {
  struct stat info;
  if (fstat(watched, &info) != 0 || !S_ISFIFO(info.st_mode)) return;
  fcntl(watched, F_SETSIG, SIGKILL);
  fcntl(watched, F_SETOWN, getpid());
  fcntl(watched, F_SETFL, fcntl(watched, F_GETFL) | O_ASYNC);
  // Closed before the signal was requested.
  pollfd look{watched, 0, 0};
  if (poll(&look, 1, 0) > 0) _exit(1);
}

}  // namespace tutti::os
