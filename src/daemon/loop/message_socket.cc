#include "daemon/loop/message_socket.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/log.h"
#include "os/socket.h"

namespace tutti::daemon {
namespace {

constexpr int kMostFailedSends = 1000;  // of one message

}  // namespace

MessageSocket::MessageSocket(EventLoop& loop, os::Fd socket, PeerRules rules)
    : loop_(loop), socket_(os::StrangersFd(std::move(socket))), rules_(rules) {}

MessageSocket::~MessageSocket() {
  if (watch_ != 0) loop_.Unwatch(watch_);
}

std::optional<ipc::Envelope> MessageSocket::First() {
  pollfd there{socket_.get(), POLLIN, 0};
  if (poll(&there, 1, 0) <= 0) return std::nullopt;
  its_turn_is_over_ = true;
  auto received = ipc::ReceivePlainMessage(socket_.get(), 0);
  return received ? std::move(*received) : ipc::Envelope{.closed = true};
}

void MessageSocket::Start(std::function<void(ipc::Envelope)> message, std::function<void()> closed) {
  message_ = std::move(message);
  closed_ = std::move(closed);
  watch_ = loop_.Watch(socket_.get(), wanted_events(), [this](uint32_t events) { Ready(events); });
}

void MessageSocket::Send(std::vector<uint8_t> bytes, std::vector<os::Fd> fds) {
  Outgoing outgoing{std::move(bytes), {}};
  for (os::Fd& fd : fds) outgoing.fds.emplace_back(std::move(fd));  // also if it is only to be closed
  if (peer_is_gone_) return;
  queued_bytes_ += outgoing.bytes.size();
  queue_.push_back(std::move(outgoing));
  if (queue_.size() == 1) Flush();
  // The owner learns of a lost peer from the loop, never from inside Send.
  if (queue_.size() > kMaxQueued || queued_bytes_ > kMaxQueuedBytes) shutdown(socket_.get(), SHUT_RDWR);
}

os::Fd MessageSocket::Release() {
  if (watch_ != 0) loop_.Unwatch(watch_);
  watch_ = 0;
  return socket_.Release();
}

void MessageSocket::Next() {
  its_turn_is_over_ = false;
  if (watch_ != 0) loop_.Change(watch_, wanted_events());
}

uint32_t MessageSocket::wanted_events() const { return (reading() ? EPOLLIN : 0u) | (queue_.empty() ? 0u : EPOLLOUT); }

void MessageSocket::Ready(uint32_t events) {
  if ((events & EPOLLOUT) != 0) Flush();
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0) return;
  if (!reading()) {
    // Reading is switched off here, not at each message, since most are answered before the loop's next iteration.
    if ((events & (EPOLLHUP | EPOLLERR)) != 0) return Close();
    return loop_.Change(watch_, wanted_events());
  }
  auto received = ipc::ReceivePlainMessage(socket_.get(), 0);
  if (!received && lost_ < rules_.may_lose) {
    ++lost_;
    log::Error("A message is lost: {}", received.error().text);
    return;
  }
  if (!received || received->closed) return Close();
  lost_ = 0;
  its_turn_is_over_ = true;
  const auto message = message_;  // the callback may destroy this object
  message(std::move(*received));
}

void MessageSocket::Flush() {
  while (!queue_.empty()) {
    std::vector<int> fds;
    for (const os::StrangersFd& fd : queue_.front().fds) fds.push_back(fd.get());
    const auto sent = os::TrySend(socket_.get(), queue_.front().bytes, fds);
    if (sent && !*sent) break;
    // Temporarily out of memory, or the peer is gone, which the loop reports as a hang-up. An answer must not be
    // dropped while somebody waits for it.
    if (!sent && ++failed_sends_ < kMostFailedSends) break;
    if (!sent) shutdown(socket_.get(), SHUT_RDWR);
    failed_sends_ = 0;
    queued_bytes_ -= queue_.front().bytes.size();
    queue_.pop_front();
  }
  if (watch_ != 0) loop_.Change(watch_, wanted_events());
}

void MessageSocket::Close() {
  const auto closed = closed_;
  if (watch_ != 0) loop_.Unwatch(watch_);
  watch_ = 0;
  peer_is_gone_ = true;
  queue_.clear();  // or whoever waits until all is sent would wait for ever
  queued_bytes_ = 0;
  closed();
}

}  // namespace tutti::daemon
