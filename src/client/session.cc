#include "client/session.h"

#include <utility>

namespace tutti::client {

Session::Session(std::unique_ptr<ipc::ClientConnection> connection)
    : connection_(std::move(connection)),
      window_base_(connection_->window_base()),
      window_bytes_(connection_->window_bytes()) {}

void Session::Install(std::unique_ptr<ipc::ClientConnection> connection) {
  instance_.store(new Session(std::move(connection)), std::memory_order_release);
}

void Session::AbandonInChild() {
  if (installed()) Get().connection_->AbandonInChild();
}

}  // namespace tutti::client
