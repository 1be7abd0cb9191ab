#include "os/pidfd.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <string>
#include <string_view>

#include "os/proc_text.h"
#include "os/socket.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

namespace tutti::os {

Result<Fd> OpenPidfd(pid_t pid) {
  Fd fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!fd) return FailErrno("pidfd_open");
  return fd;
}

bool AwaitEnd(int pidfd, int timeout_ms) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  pollfd ended{pidfd, POLLIN, 0};
  for (int ready = -1; ready <= 0;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() < 0) return false;
    ready = poll(&ended, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno != EINTR) return false;
  }
  return true;
}

bool KeepsItsNumber(int pidfd) { return syscall(SYS_pidfd_send_signal, pidfd, 0, nullptr, 0) == 0 || errno == EPERM; }

Result<Fd> OpenPidfdOfConnector(int socket) {
  int fd = -1;
  socklen_t size = sizeof fd;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &size) != 0) return FailErrno("SO_PEERPIDFD");
  return Fd(fd);  // close-on-exec, as every pidfd
}

Result<Fd> OpenPeerPidfd(int socket) {
  if (auto connector = OpenPidfdOfConnector(socket)) return connector;
  TUTTI_ASSIGN(const PeerCredentials peer, Peer(socket));
  if (peer.pid == 0) return Fail("the peer's process is not visible from here");
  return OpenPidfd(peer.pid);
}

uint64_t StartTicks(pid_t pid) {
  constexpr int kFieldsBetween = 18;  // of proc_pid_stat(5): the state is behind the name, which may have blanks in it
  const std::string text = TextOf("/proc/" + std::to_string(pid) + "/stat");
  std::string_view rest = text;
  rest.remove_prefix(std::min(rest.rfind(')') + 2, rest.size()));
  if (const std::string_view state = Cut(rest, ' '); state == "Z" || state == "X") return 0;
  for (int i = 0; i < kFieldsBetween; ++i) Cut(rest, ' ');
  uint64_t ticks = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), ticks);
  return ticks;
}

}  // namespace tutti::os
