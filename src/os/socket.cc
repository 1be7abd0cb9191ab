#include "os/socket.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "os/close_aside.h"

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83  // Linux 6.16, newer than the headers this is built with
#endif

namespace tutti::os {
namespace {

// Retries after a signal (EINTR).
template <typename Call>
ssize_t Uninterrupted(const Call& call) {
  ssize_t result;
  do {
    result = call();
  } while (result < 0 && errno == EINTR);
  return result;
}

Result<sockaddr_un> AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return Fail(fmt::format("socket path \"{}\" has {} bytes, a Unix socket takes {}: use a shorter directory", path,
                            path.size(), sizeof address.sun_path - 1));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

Result<bool> SendWith(int flags, int socket, std::span<const uint8_t> bytes, std::span<const int> fds) {
  iovec part{const_cast<uint8_t*>(bytes.data()), bytes.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxMessageFds)] = {};
  if (!fds.empty()) {
    if (fds.size() > kMaxMessageFds) return Fail("too many descriptors for one message");
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
    cmsghdr* part_header = CMSG_FIRSTHDR(&header);
    part_header->cmsg_level = SOL_SOCKET;
    part_header->cmsg_type = SCM_RIGHTS;
    part_header->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
    std::memcpy(CMSG_DATA(part_header), fds.data(), sizeof(int) * fds.size());
  }
  for (;;) {
    if (sendmsg(socket, &header, MSG_NOSIGNAL | flags) >= 0) return true;
    if (errno == EAGAIN && (flags & MSG_DONTWAIT) != 0) return false;
    if (errno != EINTR) return FailErrno("sending a message");
  }
}

// A deadline that signals do not restart.
class Deadline {
 public:
  explicit Deadline(int timeout_ms)
      : at_ns_(timeout_ms < 0 ? kNever : NowNs() + static_cast<uint64_t>(timeout_ms) * kNsPerMs) {}
  bool Over() const { return at_ns_ != kNever && NowNs() >= at_ns_; }
  // Rounded up; -1: none.
  int LeftMs() const {
    if (at_ns_ == kNever) return -1;
    const uint64_t now_ns = NowNs();
    return now_ns >= at_ns_ ? 0 : static_cast<int>((at_ns_ - now_ns + kNsPerMs - 1) / kNsPerMs);
  }

 private:
  static constexpr uint64_t kNsPerMs = 1'000'000;
  const uint64_t at_ns_;
};

}  // namespace

Status AwaitReadable(int socket, int timeout_ms) {
  const Deadline deadline(timeout_ms);
  for (;;) {
    pollfd wait{socket, POLLIN, 0};
    const int ready = poll(&wait, 1, deadline.LeftMs());
    if (ready > 0) return {};
    if (ready == 0) return Fail("timed out waiting for a message");
    if (errno != EINTR) return FailErrno("waiting for a message");
  }
}

Result<Fd> Listen(const std::string& path, mode_t mode) {
  TUTTI_ASSIGN(const sockaddr_un address, AddressOf(path));
  Fd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!fd) return FailErrno("socket");
  unlink(path.c_str());
  // bind creates the file with its final mode: by the time of a chmod(path), anybody with write access to the directory
  // could have put a link in its place.
  if (fchmod(fd.get(), mode) != 0) return FailErrno("mode of the socket for " + path);
  const mode_t before = umask(0);
  const int bound = bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  umask(before);
  if (bound != 0) return FailErrno("bind to " + path);
  RefuseDescriptors(fd.get());
  if (listen(fd.get(), SOMAXCONN) != 0) return FailErrno("listen on " + path);
  return fd;
}

Result<Fd> Connect(const std::string& path, int timeout_ms) {
  TUTTI_ASSIGN(const sockaddr_un address, AddressOf(path));
  Fd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!fd) return FailErrno("socket");
  const Deadline deadline(timeout_ms);
  for (;;) {
    // The kernel applies the timeout to connect() as well, but restarts it after a signal.
    TUTTI_TRY(LimitSends(fd.get(), deadline.LeftMs()));
    if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) break;
    if (errno == EINTR && !deadline.Over()) continue;
    if (errno == EAGAIN || errno == EINTR)
      return FailErrno(fmt::format("connect to {}: the listener has not accepted for {} ms", path, timeout_ms));
    return FailErrno("connect to " + path);
  }
  TUTTI_TRY(LimitSends(fd.get(), timeout_ms));
  return fd;
}

Status LimitSends(int socket, int timeout_ms) {
  // To the kernel, a timeout of 0 means none.
  const int limit_ms = timeout_ms < 0 ? 0 : std::max(timeout_ms, 1);
  const timeval limit{limit_ms / 1000, limit_ms % 1000 * 1000};
  if (setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0) return FailErrno("SO_SNDTIMEO");
  return {};
}

Result<Fd> Accept(int listener) {
  Fd fd(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  if (!fd) return FailErrno("accept");
  return fd;
}

Result<std::pair<Fd, Fd>> SocketPair() {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) return FailErrno("socketpair");
  return std::pair(Fd(fds[0]), Fd(fds[1]));
}

namespace {

void PassDescriptors(int socket, int pass) { setsockopt(socket, SOL_SOCKET, SO_PASSRIGHTS, &pass, sizeof pass); }

}  // namespace

void RefuseDescriptors(int socket) { PassDescriptors(socket, 0); }

void AllowDescriptors(int socket) { PassDescriptors(socket, 1); }

bool MayHoldDescriptors(int fd) {
  int passed = 1;
  socklen_t size = sizeof passed;
  return getsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &passed, &size) != 0 || passed != 0;
}

Result<PeerCredentials> Peer(int socket) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return FailErrno("SO_PEERCRED");
  return PeerCredentials{credentials.pid, credentials.uid, credentials.gid};
}

bool HungUp(int socket) {
  pollfd look{socket, 0, 0};
  return poll(&look, 1, 0) > 0 && (look.revents & POLLHUP) != 0;
}

Status Send(int socket, std::span<const uint8_t> bytes, std::span<const int> fds) {
  TUTTI_TRY(SendWith(0, socket, bytes, fds));
  return {};
}

Result<bool> TrySend(int socket, std::span<const uint8_t> bytes, std::span<const int> fds) {
  return SendWith(MSG_DONTWAIT, socket, bytes, fds);
}

namespace {

struct NextMessage {
  size_t bytes = 0;
  bool has_fds = false;
};

// Waits for the next message and returns its length, so that a short one does not cost the longest one's memory.
Result<NextMessage> LookAtNext(int socket) {
  msghdr nothing{};
  const ssize_t size = Uninterrupted([&] { return recvmsg(socket, &nothing, MSG_PEEK | MSG_TRUNC); });
  if (size < 0) return FailErrno("receiving a message");
  // The control data was truncated.
  return NextMessage{static_cast<size_t>(size), (nothing.msg_flags & MSG_CTRUNC) != 0};
}

}  // namespace

Result<PeekedMessage> Peek(int socket, size_t most_bytes) {
  PeekedMessage message{.bytes = std::vector<uint8_t>(most_bytes)};
  iovec part{message.bytes.data(), message.bytes.size()};
  alignas(cmsghdr) char control[CMSG_LEN(sizeof(int))] = {};  // CMSG_SPACE's padding would hold a second descriptor
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  const ssize_t size =
      Uninterrupted([&] { return recvmsg(socket, &header, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC); });
  if (size < 0) return FailErrno("receiving a message");
  const cmsghdr* const rights = CMSG_FIRSTHDR(&header);
  if (rights != nullptr && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS &&
      rights->cmsg_len == sizeof control) {
    int fd;
    std::memcpy(&fd, CMSG_DATA(rights), sizeof fd);
    message.fd = Fd(fd);
  }
  message.bytes.resize(static_cast<size_t>(size));
  message.complete = (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
  message.out_of_fds = (header.msg_flags & MSG_CTRUNC) != 0 && !message.fd;
  return message;
}

Status Discard(int socket) {
  const ssize_t received = Uninterrupted([&] { return recv(socket, nullptr, 0, MSG_DONTWAIT); });
  if (received < 0) return FailErrno("receiving a message");
  return {};
}

Result<std::vector<uint8_t>> ReceiveBytes(int socket, int timeout_ms) {
  if (timeout_ms >= 0) TUTTI_TRY(AwaitReadable(socket, timeout_ms));
  TUTTI_ASSIGN(const NextMessage next, LookAtNext(socket));
  if (next.has_fds) return Fail("message with unexpected descriptors");
  if (next.bytes > kMaxMessageBytes) return Fail("message longer than the protocol allows");
  std::vector<uint8_t> bytes(next.bytes);
  const ssize_t received = Uninterrupted([&] { return recv(socket, bytes.data(), bytes.size(), 0); });
  if (received < 0) return FailErrno("receiving a message");
  bytes.resize(static_cast<size_t>(received));
  return bytes;
}

Result<Message> Receive(int socket, int timeout_ms) {
  if (timeout_ms >= 0) TUTTI_TRY(AwaitReadable(socket, timeout_ms));
  Message message;
  TUTTI_ASSIGN(const NextMessage next, LookAtNext(socket));
  message.bytes.resize(std::min(next.bytes, kMaxMessageBytes));
  iovec part{message.bytes.data(), message.bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxMessageFds)] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  const ssize_t received = Uninterrupted([&] { return recvmsg(socket, &header, MSG_CMSG_CLOEXEC); });
  if (received < 0) return FailErrno("receiving a message");
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof fd);
      message.fds.emplace_back(fd);
    }
  }
  if ((header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
    for (Fd& sent : message.fds) CloseAside(std::move(sent));
    return Fail("message longer than the protocol allows");
  }
  message.bytes.resize(static_cast<size_t>(received));
  return message;
}

}  // namespace tutti::os
