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

// A listening socket at `path` with permission bits `mode`. An old socket file is replaced. Paths longer than a socket
// address allows (107 bytes) are refused with a text that says so.
// Whom it accepts can pass no descriptors to it (RefuseDescriptors).
Result<Fd> Listen(const std::string& path, mode_t mode);
// Connects to a listener; the error's text names the path. A listener that accepts nobody makes its callers wait once
// its queue is full: `timeout_ms` bounds that, whatever signals come meanwhile, and each later Send on this socket; < 0
// waits for ever.
Result<Fd> Connect(const std::string& path, int timeout_ms = -1);
// Bounds each later Send on the socket; < 0: not at all.
Status LimitSends(int socket, int timeout_ms);
Result<Fd> Accept(int listener);
Result<std::pair<Fd, Fd>> SocketPair();

// Nobody can pass descriptors to the socket any more, nor to those that it accepts: their send fails. Before anything
// could have been sent, so that closing the socket never waits (os/close_aside.h). Before Linux 6.16 this does nothing.
void RefuseDescriptors(int socket);
void AllowDescriptors(int socket);
// False if there can be none among what has been sent to it.
bool MayHoldDescriptors(int fd);

// Credentials of the peer at the time it connected (SO_PEERCRED), also of a socket that was passed on since.
Result<PeerCredentials> Peer(int socket);

// Sends one message. Blocks unless the socket is non-blocking. Never raises SIGPIPE.
Status Send(int socket, std::span<const uint8_t> bytes, std::span<const int> fds = {});
// The same without ever blocking: false if there is no room for the message now (wait until the socket is writable).
Result<bool> TrySend(int socket, std::span<const uint8_t> bytes, std::span<const int> fds = {});
// Receives one message with its descriptors (close-on-exec). An empty message with no descriptors means that the peer
// has closed. `timeout_ms`, whatever signals come meanwhile, < 0 waits for ever. A message longer than kMaxMessageBytes
// is an error.
Result<Message> Receive(int socket, int timeout_ms = -1);
// The next message as it lies in the queue, where it stays. `fd` is another descriptor of the first file that it
// brings.
struct PeekedMessage {
  std::vector<uint8_t> bytes;
  Fd fd;
  bool complete = false;  // no bytes are missing and no descriptors: `fd` is the only one
};
// Fails if none has come.
Result<PeekedMessage> Peek(int socket, size_t most_bytes);
// Takes that one out of the queue. Of its files nothing is closed here that whoever peeked has still open.
Status Discard(int socket);
// The same from a peer that has no business to send descriptors. A message that has some is an error, and stays where
// it is: to have a stranger's descriptor is to have to close it (os/close_aside.h).
Result<std::vector<uint8_t>> ReceiveBytes(int socket, int timeout_ms = -1);

}  // namespace tutti::os
