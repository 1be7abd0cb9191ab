#include "server/outbox.h"

#include <fcntl.h>
#include <sys/epoll.h>

#include "os/socket.h"

namespace tutti::server {

Result<std::unique_ptr<Outbox>> Outbox::Create(int socket, Server* server) {
  os::Fd room(fcntl(socket, F_DUPFD_CLOEXEC, 0));
  if (!room) return FailErrno("a descriptor for the daemon's socket");
  std::unique_ptr<Outbox> outbox(new Outbox(socket, std::move(room), server));
  // Edge-triggered: wakes when the peer has read, and not while there is nothing to send.
  TUTTI_TRY(server->Watch(outbox->room_.get(), [self = outbox.get()] { self->Flush(); }, EPOLLOUT | EPOLLET));
  return outbox;
}

Outbox::~Outbox() { server_->Unwatch(room_.get()); }

Status Outbox::Send(wire::MessageKind kind, uint32_t serial, ByteWriter body, uint32_t flags) {
  std::vector<uint8_t> packet = wire::Pack(kind, serial, std::move(body), wire::kProtocolVersion, flags);
  if (waiting_.empty()) {
    TUTTI_ASSIGN(const bool sent, os::TrySend(socket_, packet));
    if (sent) return {};
  }
  if (waiting_.size() == kMostMessages) return Fail("it has not read those before");
  waiting_.push_back(std::move(packet));
  Flush();  // there may be room by now
  return {};
}

// Messages to a peer that is gone are dropped; the event loop notices its end when reading.
void Outbox::Flush() {
  while (!waiting_.empty()) {
    const auto sent = os::TrySend(socket_, waiting_.front());
    if (sent && !*sent) return;
    waiting_.pop_front();
  }
}

}  // namespace tutti::server
