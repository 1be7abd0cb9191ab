// The socket to the control daemon that started this server (wire/server_messages.h).
#pragma once

#include <sys/eventfd.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/error.h"
#include "ipc/message.h"
#include "os/fd.h"
#include "server/outbox.h"
#include "server/server.h"

namespace tutti::server {

// Main thread only.
class DaemonLink {
 public:
  // Reports the server as ready and serves the daemon's requests from now on. The server outlives it.
  static Result<std::unique_ptr<DaemonLink>> Create(os::Fd socket, Server* server);
  // For a server that could not start.
  static void ReportFailure(int socket, std::string_view text);
  ~DaemonLink();

  // The server is to end: the daemon is gone or has ordered it.
  bool done() const { return gone_ || (draining_ && server_->client_count() == 0); }

 private:
  DaemonLink(os::Fd socket, Server* server) : socket_(std::move(socket)), server_(server) {}

  void OnReadable();
  Status Handle(ipc::Envelope& message);
  Status HandleAttach(ipc::Envelope& message);
  Status HandleQuery(const ipc::Envelope& message);
  Status HandleSet(const ipc::Envelope& message);
  Status HandleTerminate(const ipc::Envelope& message);
  Status HandleShutdown(const ipc::Envelope& message);
  Status ApplySetting(const wire::ServerSet& set);
  static Status TakeLog(const ipc::Envelope& message);
  void Reply(uint32_t serial, const wire::ServerReply& reply, int file = -1);
  void ReplyStatus(uint32_t serial, const Status& status);

  os::Fd socket_;
  Server* server_;
  std::unique_ptr<Outbox> outbox_;
  // reserve: closed to accept a client's connection when descriptors have run out, so that the client can be told so
  os::Fd spare_{eventfd(0, EFD_CLOEXEC)};
  int failures_ = 0;
  bool gone_ = false;
  bool draining_ = false;
};

}  // namespace tutti::server
