// The queue of messages to the daemon: sends at once if the socket has room, else queues until it has. A stopped daemon
// thus never blocks a server and its clients.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/error.h"
#include "os/fd.h"
#include "server/server.h"
#include "wire/messages.h"

namespace tutti::server {

// Main thread only.
class Outbox {
 public:
  static constexpr size_t kMostMessages = 1024;

  // For `socket`, which is borrowed. `server`, whose loop sends what was kept, outlives it.
  static Result<std::unique_ptr<Outbox>> Create(int socket, Server* server);
  ~Outbox();
  Outbox(const Outbox&) = delete;

  // Fails if the peer is gone, or if the queue is so long that nobody can still be waiting for this message.
  Status Send(wire::MessageKind kind, uint32_t serial, ByteWriter body, uint32_t flags = 0);

 private:
  Outbox(int socket, os::Fd room, Server* server) : socket_(socket), room_(std::move(room)), server_(server) {}

  void Flush();

  const int socket_;
  const os::Fd room_;  // a duplicate of the socket, watched for EPOLLOUT
  Server* const server_;
  std::deque<std::vector<uint8_t>> waiting_;
};

}  // namespace tutti::server
