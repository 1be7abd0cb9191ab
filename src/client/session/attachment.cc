#include "client/session/attachment.h"

#include <utility>

namespace tutti::client {

Attachment::Attachment(std::unique_ptr<ipc::ClientConnection> connection, Attachment* earlier)
    : earlier_(earlier),
      connection_(std::move(connection)),
      window_base_(connection_->window_base()),
      window_bytes_(connection_->window_shape().bytes),
      unreached_begin_(window_base_ + connection_->window_shape().unreached_begin()),
      unreached_end_(window_base_ + connection_->window_shape().unreached_end()) {}

void Attachment::Install(std::unique_ptr<ipc::ClientConnection> connection) {
  Attachment* const earlier = instance_.load(std::memory_order_acquire);
  instance_.store(new Attachment(std::move(connection), earlier), std::memory_order_release);
}

void Attachment::AbandonInChild() {
  if (installed()) Get().connection_->AbandonInChild();
}

}  // namespace tutti::client
