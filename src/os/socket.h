// Unix-domain sockets of type SOCK_SEQPACKET: one send is one message, descriptors travel with it, the kernel vouches
// for the peer.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "os/fd.h"

namespace tutti::os {

inline constexpr size_t kMaxMessageBytes = 128 * 1024;
inline constexpr size_t kMaxMessageFds = 8;

struct PeerCredentials {
  pid_t pid = 0;  // as seen in this process's PID namespace; 0 if the peer lives in one we cannot see
  uid_t uid = 0;
  gid_t gid = 0;
};

struct Message {
  std::vector<uint8_t> bytes;
  std::vector<Fd> fds;
};

// A listening socket at `path` with permission bits `mode`. Replaces an old socket file. Refuses paths longer than a
// socket address allows (107 bytes) with a text that says so. Accepted connections refuse descriptors
// (RefuseDescriptors).
Result<Fd> Listen(const std::string& path, mode_t mode);
// Connects to a listener; the error's text names the path. If the listener does not accept and its queue is full, this
// blocks: `timeout_ms` bounds that, whatever signals arrive, and each later Send on this socket; < 0: no limit.
Result<Fd> Connect(const std::string& path, int timeout_ms = -1);
// Sets the timeout of each later Send on the socket; < 0: none.
Status LimitSends(int socket, int timeout_ms);
Result<Fd> Accept(int listener);
Result<std::pair<Fd, Fd>> SocketPair();

// Makes the socket, and those it accepts, refuse descriptors: sending one fails. Called before a peer can send
// anything, so that closing the socket never blocks (os/close_aside.h). A no-op before Linux 6.16.
void RefuseDescriptors(int socket);
void AllowDescriptors(int socket);
// Whether descriptors may lie in its queue.
bool MayHoldDescriptors(int fd);

// The peer's credentials at the time it connected (SO_PEERCRED), even if the socket was passed on since.
Result<PeerCredentials> Peer(int socket);

// Whether the other end is closed, by all processes that held it. What it has sent can still be read.
bool HungUp(int socket);

// Waits until something can be received, or the peer has closed. Fails once `timeout_ms` are over, whatever signals
// arrive; < 0: no limit.
Status AwaitReadable(int socket, int timeout_ms);

// Sends one message. Blocks unless the socket is non-blocking. Never raises SIGPIPE.
Status Send(int socket, std::span<const uint8_t> bytes, std::span<const int> fds = {});
// The same without ever blocking: false if there is no room for the message now (wait until the socket is writable).
Result<bool> TrySend(int socket, std::span<const uint8_t> bytes, std::span<const int> fds = {});
// Receives one message with its descriptors (close-on-exec). An empty message with no descriptors means that the peer
// has closed. `timeout_ms` holds whatever signals arrive; < 0: no limit. A message longer than kMaxMessageBytes is an
// error.
Result<Message> Receive(int socket, int timeout_ms = -1);
// Peeks at the next message, which stays in the queue. `fd` is a duplicate of the first descriptor that it carries.
struct PeekedMessage {
  std::vector<uint8_t> bytes;
  Fd fd;
  bool complete = false;  // neither bytes nor descriptors are missing: `fd` is the only one
  bool out_of_fds = false;  // it carries descriptors, and this process has no number left for one
};
// Fails if none has arrived.
Result<PeekedMessage> Peek(int socket, size_t most_bytes);
// Removes the peeked message from the queue. Closing its descriptors cannot block as long as the caller holds the
// duplicate of Peek.
Status Discard(int socket);
// Receives from a peer that may not send descriptors. A message that carries some is an error and stays in the queue:
// whoever receives a stranger's descriptor has to close it (os/close_aside.h).
Result<std::vector<uint8_t>> ReceiveBytes(int socket, int timeout_ms = -1);

}  // namespace tutti::os
