#include "ipc/message.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "base/clock.h"
#include "base/log.h"
#include "cuda/result.h"
#include "os/memory.h"
#include "os/socket.h"

namespace tutti::ipc {
namespace {

// Untrusted peers can cause any number of these lines.
void LogRefusal(std::string_view text) {
  constexpr uint64_t kPauseNs = 1'000'000'000;
  static std::atomic<uint64_t> next_ns{0};
  const uint64_t now_ns = NowNs();
  uint64_t due_ns = next_ns.load(std::memory_order_relaxed);
  if (now_ns < due_ns || !next_ns.compare_exchange_strong(due_ns, now_ns + kPauseNs, std::memory_order_relaxed)) return;
  log::Info("A message is refused: {}", text);
}

// Bytes that are no message of ours get no answer. Never blocks: a peer that does not read loses the answer.
void RefuseOtherVersion(int socket, std::span<const uint8_t> bytes, std::string_view text) {
  const auto version = wire::OtherVersion(bytes);
  if (!version) return;
  LogRefusal(text);
  ByteWriter body;
  wire::Put(body, wire::Refuse{.status = cuda::CUDA_ERROR_MPS_CONNECTION_FAILED, .text = std::string(text)});
  (void)os::TrySend(socket, wire::Pack(wire::MessageKind::kRefuse, 0, std::move(body), *version));
}

// A message as received from `socket`, with the part of its body that the packet holds.
Result<Envelope> Open(int socket, std::span<const uint8_t> bytes) {
  Envelope envelope;
  envelope.closed = bytes.empty();
  if (envelope.closed) return envelope;
  ByteReader in(bytes);
  const auto head = wire::ReadHead(in);
  if (!head) {
    RefuseOtherVersion(socket, bytes, head.error().text);
    return std::unexpected(head.error());
  }
  envelope.head = *head;
  envelope.body.assign(bytes.begin() + sizeof(wire::MessageHead), bytes.end());
  return envelope;
}

}  // namespace

Status SendMessage(int socket, wire::MessageKind kind, uint32_t serial, ByteWriter body, std::span<const int> fds) {
  if (body.bytes().size() <= kMaxPacketBytes) return os::Send(socket, wire::Pack(kind, serial, std::move(body)), fds);
  TUTTI_ASSIGN(const os::Fd file, os::CreateMemoryOf("tutti-message", body.bytes()));
  std::vector<int> all{file.get()};
  all.insert(all.end(), fds.begin(), fds.end());
  return os::Send(socket, wire::Pack(kind, serial, {}, wire::kProtocolVersion, wire::kBodyInFile), all);
}

Result<Envelope> ReceiveMessage(int socket, int timeout_ms, uint64_t max_file_bytes) {
  TUTTI_ASSIGN(os::Message message, os::Receive(socket, timeout_ms));
  TUTTI_ASSIGN(Envelope envelope, Open(socket, message.bytes));
  envelope.fds = std::move(message.fds);
  if ((envelope.head.flags & wire::kBodyInFile) == 0) return envelope;
  if (max_file_bytes == 0) return Fail("message with an unexpected body in a file");
  if (envelope.fds.empty()) return Fail("message without the file that should hold its body");
  TUTTI_ASSIGN(envelope.body, FromMemoryFile(envelope.fds.front().get(), max_file_bytes));
  envelope.fds.erase(envelope.fds.begin());
  return envelope;
}

Result<Envelope> ReceivePlainMessage(int socket, int timeout_ms) {
  TUTTI_ASSIGN(const std::vector<uint8_t> bytes, os::ReceiveBytes(socket, timeout_ms));
  TUTTI_ASSIGN(Envelope envelope, Open(socket, bytes));
  if ((envelope.head.flags & wire::kBodyInFile) != 0) return Fail("message with an unexpected body in a file");
  return envelope;
}

Result<Envelope> ReceiveRequest(int socket, uint64_t most_bytes, InTheWay* in_the_way) {
  constexpr size_t kMostBytes = 4096;
  TUTTI_ASSIGN(os::PeekedMessage message, os::Peek(socket, kMostBytes));
  if (message.out_of_fds || (message.fd && (!message.complete || !os::IsMemory(message.fd.get(), most_bytes)))) {
    *in_the_way = {.first = std::move(message.fd), .out_of_fds = message.out_of_fds};
    return Open(socket, message.bytes);
  }
  if (!message.complete) return Fail("message longer than a request");
  if (!message.bytes.empty()) TUTTI_TRY(os::Discard(socket));
  TUTTI_ASSIGN(Envelope envelope, Open(socket, message.bytes));
  if ((envelope.head.flags & wire::kBodyInFile) != 0) return Fail("message with an unexpected body in a file");
  if (message.fd) envelope.fds.push_back(std::move(message.fd));
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
