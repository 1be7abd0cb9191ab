// A message connection on the event loop: packets come in by callback, packets go out without ever blocking. Daemon
// thread only.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "daemon/event_loop.h"
#include "ipc/message.h"
#include "os/fd.h"

namespace tutti::daemon {

class MessageSocket {
 public:
  // A peer that does not read may have this many packets and bytes waiting; then the connection is given up.
  static constexpr size_t kMaxQueued = 65536;
  static constexpr size_t kMaxQueuedBytes = 64 << 20;

  // `may_lose`: how many messages in a row may fail to be received (no descriptor, no memory left) before the connection
  // is given up.
  MessageSocket(EventLoop& loop, os::Fd socket, int may_lose = 0);
  ~MessageSocket();
  MessageSocket(const MessageSocket&) = delete;
  MessageSocket& operator=(const MessageSocket&) = delete;

  // `message` gets every packet, `closed` is called once when the peer is gone or breaks the transport. Either may destroy
  // this object.
  void Start(std::function<void(ipc::Envelope)> message, std::function<void()> closed);

  // Queues what the socket does not take at once. Descriptors stay open until their packet is sent.
  void Send(std::vector<uint8_t> bytes, std::vector<os::Fd> fds = {});

  // Gives the connection away, with no traffic of ours on it any more. Nothing may be queued.
  os::Fd Release();
  bool idle() const { return queue_.empty(); }
  int fd() const { return socket_.get(); }

 private:
  struct Outgoing {
    std::vector<uint8_t> bytes;
    std::vector<os::Fd> fds;
  };
  void Ready(uint32_t events);
  void Flush();
  void Close();
  uint32_t wanted_events() const;

  EventLoop& loop_;
  os::Fd socket_;
  const int may_lose_;
  int lost_ = 0, failed_sends_ = 0;
  WatchId watch_ = 0;
  std::deque<Outgoing> queue_;
  size_t queued_bytes_ = 0;
  std::function<void(ipc::Envelope)> message_;
  std::function<void()> closed_;
};

}  // namespace tutti::daemon
