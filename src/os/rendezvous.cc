#include "os/rendezvous.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "os/socket.h"

namespace tutti::os {
namespace {

constexpr int kMostPending = 16;

Result<sockaddr_un> AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return Fail(fmt::format("socket path \"{}\" is too long: use a shorter directory", path));
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

}  // namespace

Result<Fd> MakeRendezvous(const std::string& path) {
  TUTTI_ASSIGN(const sockaddr_un address, AddressOf(path));
  Fd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!fd || fchmod(fd.get(), 0600) != 0) return FailErrno("a socket for " + path);
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return FailErrno("bind to " + path);
  return fd;
}

Status ListenOn(int rendezvous) {
  fcntl(rendezvous, F_SETFL, fcntl(rendezvous, F_GETFL) | O_NONBLOCK);
  if (listen(rendezvous, kMostPending) != 0) return FailErrno("listen");
  return {};
}

Result<Fd> AcceptNext(int rendezvous) {
  Fd fd(accept4(rendezvous, nullptr, nullptr, SOCK_CLOEXEC));
  if (!fd && errno != EAGAIN) return FailErrno("accept");
  return fd;
}

Result<Fd> ConnectTo(const std::string& path) {
  TUTTI_ASSIGN(const sockaddr_un address, AddressOf(path));
  Fd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return FailErrno("a socket for " + path);
  RefuseDescriptors(fd.get());
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return FailErrno("connect to " + path);
  fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) & ~O_NONBLOCK);
  return fd;
}

}  // namespace tutti::os
