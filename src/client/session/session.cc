#include "client/session/session.h"

#include <utility>

namespace tutti::client {

Session::Session(std::unique_ptr<ipc::ClientConnection> connection, Session* earlier)
    : earlier_(earlier),
      connection_(std::move(connection)),
      window_base_(connection_->window_base()),
      window_bytes_(connection_->window_bytes()) {}

void Session::Install(std::unique_ptr<ipc::ClientConnection> connection) {
  Session* const earlier = instance_.load(std::memory_order_acquire);
  instance_.store(new Session(std::move(connection), earlier), std::memory_order_release);
}

void Session::AbandonInChild() {
  if (installed()) Get().connection_->AbandonInChild();
}

}  // namespace tutti::client
