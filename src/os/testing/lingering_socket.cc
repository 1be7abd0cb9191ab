#include "os/testing/lingering_socket.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <vector>

namespace tutti::os {

LingeringSocket MakeLingeringSocket() {
  const Fd listener(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t size = sizeof address;
  if (bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener.get(), 1) != 0)
    return {};
  getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
  Fd lingering(socket(AF_INET, SOCK_STREAM, 0));
  if (connect(lingering.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return {};
  Fd unread(accept(listener.get(), nullptr, nullptr));
  const linger hour{1, 3600};
  setsockopt(lingering.get(), SOL_SOCKET, SO_LINGER, &hour, sizeof hour);
  const std::vector<char> bytes(64 * 1024);
  while (send(lingering.get(), bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) {
  }
  return {std::move(lingering), std::move(unread)};
}

}  // namespace tutti::os
