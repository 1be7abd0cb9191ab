// A message connection on the event loop: a callback receives packets, and sending never blocks. The peer is untrusted:
// it may not send descriptors, and closing the connection never blocks (os/close_aside.h). Daemon thread only.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "daemon/loop/event_loop.h"
#include "ipc/message.h"
#include "os/close_aside.h"

namespace tutti::daemon {

// Limits on a peer.
struct PeerRules {
  // consecutive failures to receive (no descriptor, no memory left) after which the connection is closed
  int may_lose = 0;
  // Reads the next packet only after the owner calls Next() and all queued answers have been sent. Until then packets
  // stay in the kernel's buffer, which blocks the sender when full (backpressure).
  bool one_at_a_time = false;
};

class MessageSocket {
 public:
  // Packets and bytes that may be queued for a peer that does not read; above it the connection is closed.
  static constexpr size_t kMaxQueued = 65536;
  static constexpr size_t kMaxQueuedBytes = 64 << 20;

  MessageSocket(EventLoop& loop, os::Fd socket, PeerRules rules = {});
  ~MessageSocket();
  MessageSocket(const MessageSocket&) = delete;
  MessageSocket& operator=(const MessageSocket&) = delete;

  // Before Start(), or once the peer has ended: what it has sent by now, if anything; `closed` if Start() would call
  // its `closed`. Most peers send as soon as they have connected, so the loop need not poll their sockets.
  std::optional<ipc::Envelope> First();

  // `message` gets every packet; `closed` is called once, when the peer is gone or violates the transport. Either may
  // destroy this object.
  void Start(std::function<void(ipc::Envelope)> message, std::function<void()> closed);

  // Queues what the socket does not accept at once. Descriptors stay open until their packet is sent. After `closed`
  // nothing is sent or queued.
  void Send(std::vector<uint8_t> bytes, std::vector<os::Fd> fds = {});

  // Releases the connection to the caller and stops watching it. Nothing may be queued.
  os::Fd Release();
  bool idle() const { return queue_.empty(); }
  size_t queued() const { return queue_.size(); }
  size_t queued_bytes() const { return queued_bytes_; }
  // Allows the peer's next packet to be read (PeerRules::one_at_a_time).
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
  bool peer_is_gone_ = false;
  int lost_ = 0, failed_sends_ = 0;
  WatchId watch_ = 0;
  std::deque<Outgoing> queue_;
  size_t queued_bytes_ = 0;
  std::function<void(ipc::Envelope)> message_;
  std::function<void()> closed_;
};

}  // namespace tutti::daemon
