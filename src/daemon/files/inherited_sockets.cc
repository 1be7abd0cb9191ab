#include "daemon/files/inherited_sockets.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

#include "os/socket.h"

namespace tutti::daemon {

std::string BoundTo(int socket) {
  sockaddr_un address{};
  socklen_t size = sizeof address;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0 || address.sun_family != AF_UNIX)
    return "";
  return std::string(address.sun_path, strnlen(address.sun_path, sizeof address.sun_path));
}

std::optional<Result<os::Fd>> TakeInherited(const std::string& path, std::vector<os::Fd>& inherited) {
  for (os::Fd& socket : inherited) {
    if (!socket || BoundTo(socket.get()) != path) continue;
    int type = 0;
    socklen_t size = sizeof type;
    if (getsockopt(socket.get(), SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_SEQPACKET) {
      return Fail(fmt::format(
          "the socket given for {} is not of type SOCK_SEQPACKET: use ListenSequentialPacket= in its unit", path));
    }
    fcntl(socket.get(), F_SETFD, FD_CLOEXEC);
    os::RefuseDescriptors(socket.get());
    return std::move(socket);
  }
  return std::nullopt;
}

}  // namespace tutti::daemon
