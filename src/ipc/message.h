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

// Sends one message; a body longer than a packet goes into a memory file. Thread-safe (one message is one send).
Status SendMessage(int socket, wire::MessageKind kind, uint32_t serial, ByteWriter body, std::span<const int> fds = {});

// The longest body in a packet, and in a memory file.
inline constexpr size_t kMaxPacketBytes = 64 * 1024;
inline constexpr uint64_t kMaxBodyBytes = 64ull << 20;

// Receives one message. Fails on timeout (`timeout_ms` < 0: none), on a socket error and on bytes that are no message
// of this protocol version; a peer of another version gets a refusal that it can parse. A body in a memory file is read
// if it is no longer than `max_file_bytes`; with 0 such a message is refused unread.
Result<Envelope> ReceiveMessage(int socket, int timeout_ms = -1, uint64_t max_file_bytes = kMaxBodyBytes);

// The same from an untrusted peer, which may send plain packets only: a message with descriptors is refused unread. A
// body in a file costs its sender nothing and its reader milliseconds, and closing a stranger's descriptor may block
// (os/close_aside.h).
Result<Envelope> ReceivePlainMessage(int socket, int timeout_ms = -1);

// Non-blocking, for a thread that serves other clients too: receives a request from an untrusted peer that may send
// memory files, whose close never blocks (os/memory.h). A request is short and carries at most one file, of at most
// `most_bytes`. A message that carries anything else, or whose file this process has no descriptor for, stays in the
// queue: `*in_the_way` says so, and the result is its head, or what is wrong with that. Closing its first descriptor,
// and discarding the message, may block for as long as the peer likes.
struct InTheWay {
  os::Fd first;
  bool out_of_fds = false;
  explicit operator bool() const { return first || out_of_fds; }
};
Result<Envelope> ReceiveRequest(int socket, uint64_t most_bytes, InTheWay* in_the_way);

// Sends kRefuse. Failure to send is ignored: the peer may be gone.
void SendRefusal(int socket, uint32_t serial, int32_t status, std::string_view text);

// A private copy of a peer's memory file. Refuses files that can change size or exceed `limit_bytes`.
Result<std::vector<uint8_t>> FromMemoryFile(int fd, uint64_t limit_bytes);

}  // namespace tutti::ipc
