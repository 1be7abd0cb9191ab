// The socket to the control daemon (wire/server_messages.h): to the one that started this server, and if that one dies,
// to the next one, which connects to the server's rendezvous (os/rendezvous.h). In between the server keeps serving its
// clients and gets no new ones.
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
  // Reports the server as ready and serves the daemon's requests from now on. Without a `rendezvous` the server ends
  // with the daemon. The server outlives it.
  static Result<std::unique_ptr<DaemonLink>> Create(os::Fd socket, os::Fd rendezvous, Server* server);
  // For a server that could not start.
  static void ReportFailure(int socket, std::string_view text);
  ~DaemonLink();

  // The server is to end: the daemon has ordered it, or is gone and no other one has come while there was no client.
  bool done();

 private:
  DaemonLink(os::Fd rendezvous, Server* server) : rendezvous_(std::move(rendezvous)), server_(server) {}

  Status Connect(os::Fd socket);
  void Lost();
  void WatchRendezvous();
  void OnArrival();
  void Arrived(os::Fd socket);
  void OnReadable();
  void ReceiveOne();
  Status Handle(ipc::Envelope& message);
  Status HandleAttach(ipc::Envelope& message);
  Status HandleQuery(const ipc::Envelope& message);
  Status HandleSet(const ipc::Envelope& message);
  Status HandleTerminate(const ipc::Envelope& message);
  Status HandleShutdown(const ipc::Envelope& message);
  Status ApplySetting(const wire::ServerSet& set);
  Status HandlePeer(const ipc::Envelope& message);
  Status TakePeer(const wire::ServerPeer& peer, int page);
  static Status TakeLog(const ipc::Envelope& message);
  void Reply(uint32_t serial, const wire::ServerReply& reply, int file = -1);
  void ReplyStatus(uint32_t serial, const Status& status);

  const os::Fd rendezvous_;
  Server* server_;
  uint32_t daemon_uid_ = 0;
  os::Fd socket_;  // none while there is no daemon
  std::unique_ptr<Outbox> outbox_;
  uint32_t daemons_ = 0;  // counts them
  os::Fd ticks_;  // a timer, armed while there is no daemon, so that done() is evaluated
  uint64_t alone_since_ns_ = 0;
  // reserve: closed to accept a client's connection when descriptors have run out, so that the client can be told so
  os::Fd spare_{eventfd(0, EFD_CLOEXEC)};
  os::Fd lonely_spare_;  // a second one while there is no daemon: the next one's connection takes two
  bool rendezvous_is_watched_ = false;
  int failures_ = 0;
  bool draining_ = false;
};

}  // namespace tutti::server
