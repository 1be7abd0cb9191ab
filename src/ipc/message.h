// Messages (wire/messages.h) over a SOCK_SEQPACKET socket, short or long.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "os/fd.h"
#include "wire/messages.h"

namespace tutti::ipc {

// A received message: its head has been checked, its body is a private copy.
struct Envelope {
  wire::MessageHead head{};
  std::vector<uint8_t> body;
  std::vector<os::Fd> fds;
  bool closed = false;  // the peer has closed; nothing else is set
};

// A message as it goes onto a socket: the descriptors that travel with it are `files` and then its own.
struct Packet {
  std::vector<uint8_t> bytes;
  std::vector<os::Fd> files;  // the body, if it is longer than a packet
};
Result<Packet> PackMessage(wire::MessageKind kind, uint32_t serial, ByteWriter body);

// Sends one message; a body longer than a packet goes into a memory file. Thread-safe (one message is one send).
Status SendMessage(int socket, wire::MessageKind kind, uint32_t serial, ByteWriter body, std::span<const int> fds = {});

// The longest body that a memory file may hold.
inline constexpr uint64_t kMaxBodyBytes = 64ull << 20;

// Receives one message; fails on timeout (`timeout_ms` < 0: none), on a socket error and on bytes that are no message
// of this protocol version. A peer of another version is told so, as a refusal that it can read. A body in a memory file is read
// if it is no longer than `max_file_bytes`; with 0 the message is refused unread: a sparse file costs its sender nothing and its
// reader milliseconds, too long for who serves strangers.
Result<Envelope> ReceiveMessage(int socket, int timeout_ms = -1, uint64_t max_file_bytes = kMaxBodyBytes);

// Sends kRefuse. Failure to send is ignored: the peer may be gone.
void SendRefusal(int socket, uint32_t serial, int32_t status, std::string_view text);

// What a memory file of a peer holds: a private copy. Refuses files that can change size or exceed `limit_bytes`.
Result<std::vector<uint8_t>> FromMemoryFile(int fd, uint64_t limit_bytes);

}  // namespace tutti::ipc
