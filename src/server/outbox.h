// What goes to the daemon: sent at once if the socket takes it, else kept and sent when there is room. A daemon that
// stands still never holds up the clients of its servers.
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

  // Fails if the peer is gone, or has so many messages to read already that nobody can be waiting for this one.
  Status Send(wire::MessageKind kind, uint32_t serial, ByteWriter body, uint32_t flags = 0);

 private:
  Outbox(int socket, os::Fd room, Server* server) : socket_(socket), room_(std::move(room)), server_(server) {}

  void Flush();

  const int socket_;
  const os::Fd room_;  // the socket again, watched for room to write
  Server* const server_;
  std::deque<std::vector<uint8_t>> waiting_;
};

}  // namespace tutti::server
