// A message connection on the event loop: packets come in by callback, packets go out without ever blocking. Its peer
// is anybody: it sends packets without descriptors, and closing the connection never waits (os/close_aside.h). Daemon
// thread only.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "daemon/loop/event_loop.h"
#include "ipc/message.h"
#include "os/close_aside.h"

namespace tutti::daemon {

// What a peer may do.
struct PeerRules {
  // so many messages in a row may fail to be received (no descriptor, no memory left) before the connection is given up
  int may_lose = 0;
  // It has to wait for its answer: its next packet is read when the owner says Next() and all that is queued has been
  // sent. What it sends meanwhile stays in the kernel's buffer, and its sender stops when that is full.
  bool one_at_a_time = false;
};

class MessageSocket {
 public:
  // A peer that does not read may have this many packets and bytes waiting; then the connection is given up.
  static constexpr size_t kMaxQueued = 65536;
  static constexpr size_t kMaxQueuedBytes = 64 << 20;

  MessageSocket(EventLoop& loop, os::Fd socket, PeerRules rules = {});
  ~MessageSocket();
  MessageSocket(const MessageSocket&) = delete;
  MessageSocket& operator=(const MessageSocket&) = delete;

  // `message` gets every packet, `closed` is called once when the peer is gone or breaks the transport. Either may
  // destroy this object.
  void Start(std::function<void(ipc::Envelope)> message, std::function<void()> closed);

  // Queues what the socket does not take at once. Descriptors stay open until their packet is sent.
  void Send(std::vector<uint8_t> bytes, std::vector<os::Fd> fds = {});

  // Gives the connection away, with no traffic of ours on it any more. Nothing may be queued.
  os::Fd Release();
  bool idle() const { return queue_.empty(); }
  size_t queued() const { return queue_.size(); }
  size_t queued_bytes() const { return queued_bytes_; }
  // The peer may have its next packet read (PeerRules::one_at_a_time).
  void Next();
  int fd() const { return socket_.get(); }

 private:
  struct Outgoing {
    std::vector<uint8_t> bytes;
    std::vector<os::StrangersFd> fds;
  };
  void Ready(uint32_t events);
  void Flush();
  void Close();
  bool reading() const { return !rules_.one_at_a_time || (!its_turn_is_over_ && queue_.empty()); }
  uint32_t wanted_events() const;

  EventLoop& loop_;
  os::StrangersFd socket_;
  const PeerRules rules_;
  bool its_turn_is_over_ = false;
  int lost_ = 0, failed_sends_ = 0;
  WatchId watch_ = 0;
  std::deque<Outgoing> queue_;
  size_t queued_bytes_ = 0;
  std::function<void(ipc::Envelope)> message_;
  std::function<void()> closed_;
};

}  // namespace tutti::daemon
