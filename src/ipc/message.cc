#include "ipc/message.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "os/memory.h"
#include "os/socket.h"

namespace tutti::ipc {
namespace {

constexpr size_t kMaxPacketBytes = 64 * 1024;
constexpr uint64_t kMaxBodyBytes = 64ull << 20;

}  // namespace

Status SendMessage(int socket, wire::MessageKind kind, uint32_t serial, ByteWriter body, std::span<const int> fds) {
  if (body.bytes().size() <= kMaxPacketBytes) return os::Send(socket, wire::Pack(kind, serial, std::move(body)), fds);
  TUTTI_ASSIGN(const os::Fd file, os::CreateMemoryOf("tutti-message", body.bytes()));
  std::vector<int> all{file.get()};
  all.insert(all.end(), fds.begin(), fds.end());
  ByteWriter packet;
  packet.Put(wire::MessageHead{.kind = kind, .serial = serial, .flags = wire::kBodyInFile});
  return os::Send(socket, packet.bytes(), all);
}

Result<Envelope> ReceiveMessage(int socket, int timeout_ms) {
  TUTTI_ASSIGN(os::Message message, os::Receive(socket, timeout_ms));
  Envelope envelope{.fds = std::move(message.fds)};
  if (message.bytes.empty()) {
    envelope.closed = true;
    return envelope;
  }
  ByteReader in(message.bytes);
  TUTTI_ASSIGN(envelope.head, wire::ReadHead(in));
  if ((envelope.head.flags & wire::kBodyInFile) == 0) {
    envelope.body.assign(message.bytes.begin() + sizeof(wire::MessageHead), message.bytes.end());
    return envelope;
  }
  if (envelope.fds.empty()) return Fail("message without the file that should hold its body");
  TUTTI_ASSIGN(envelope.body, FromMemoryFile(envelope.fds.front().get(), kMaxBodyBytes));
  envelope.fds.erase(envelope.fds.begin());
  return envelope;
}

void SendRefusal(int socket, uint32_t serial, int32_t status, std::string_view text) {
  ByteWriter body;
  wire::Put(body, wire::Refuse{.status = status, .text = std::string(text)});
  (void)SendMessage(socket, wire::MessageKind::kRefuse, serial, std::move(body));
}

Result<std::vector<uint8_t>> FromMemoryFile(int fd, uint64_t limit_bytes) {
  TUTTI_ASSIGN(const uint64_t size, os::SealedMemorySize(fd));
  if (size > limit_bytes) return Fail(fmt::format("memory file of {} bytes, {} are allowed", size, limit_bytes));
  std::vector<uint8_t> bytes(size);
  uint64_t done = 0;
  while (done < size) {
    const ssize_t got = pread(fd, bytes.data() + done, size - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return FailErrno("reading a memory file");
    done += static_cast<uint64_t>(got);
  }
  return bytes;
}

}  // namespace tutti::ipc
