// The client's end of a session: handshake, mappings, and the requests over the session socket.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/error.h"
#include "ipc/client_window.h"
#include "ipc/completion_waiter.h"
#include "ipc/message.h"
#include "ipc/peer_watch.h"
#include "ipc/reply_slots.h"
#include "ipc/ring_producer.h"
#include "os/fd.h"
#include "os/memory.h"
#include "wire/channel_layout.h"
#include "wire/messages.h"

namespace tutti::ipc {

// The variable that names, by number, a user whose daemon this user's programs trust. Used in the text of a refusal.
inline constexpr const char* kTrustVariable = "TUTTI_TRUST_UID";

// What a server says of its devices, for as long as the socket is open. Without the window, whose addresses another
// session of this process may have.
struct ServerView {
  os::Fd socket;
  os::Mapping channel;

  const wire::ChannelHeader& header() const { return reinterpret_cast<const wire::Channel*>(channel.data())->header; }
};

// Thread-safe once made. Destroying it ends the session and unmaps channel and window; no thread may use it by then.
// After a fork the child must not touch it: the server knows the parent only.
class ClientConnection {
 public:
  // Connects through the daemon that listens in `pipe_directory`. Waits up to `timeout_ms` for the daemon to accept,
  // and as long again for a server to be ready. The listener sees everything the program computes, so it must run as
  // root, as this user, or as one of the `trusted` users. The error's code is the CUresult for the caller (the
  // refusal's, or MPS_CONNECTION_FAILED).
  static Result<std::unique_ptr<ClientConnection>> Connect(const std::string& pipe_directory, const wire::Hello& hello,
                                                           int timeout_ms, std::span<const uid_t> trusted = {});
  // Connects over a socket whose other end a private server holds.
  static Result<std::unique_ptr<ClientConnection>> Adopt(os::Fd socket, const wire::Hello& hello, int timeout_ms);
  // Over such a socket, too, by somebody who wants to know the devices and no more.
  static Result<ServerView> Look(os::Fd socket, const wire::Hello& hello, int timeout_ms);

  ~ClientConnection();
  ClientConnection(const ClientConnection&) = delete;
  ClientConnection& operator=(const ClientConnection&) = delete;

  wire::Channel& channel() { return *channel_; }
  const wire::ChannelHeader& header() const { return channel_->header; }
  uint64_t window_base() const { return header().window_base; }
  const wire::WindowShape& window_shape() const { return header().window; }
  RingProducer& producer() { return producer_; }
  // What is done: for reading.
  const wire::Completions& completions() const { return *completions_; }
  CompletionWaiter& waiter() { return waiter_; }
  ReplySlots& replies() { return replies_; }
  PeerWatch& watch() { return watch_; }

  // One request over the socket and its reply, which must be of kind `answer`. A kRefuse, or a lost server, is an error
  // with a CUresult as its code. One call at a time; others wait. Waits as long as the session lives,
  // and meanwhile calls `meanwhile` now and then, first after 20 ms.
  Result<Envelope> Call(wire::MessageKind request, ByteWriter body, std::span<const int> fds, wire::MessageKind answer,
                        const std::function<void()>& meanwhile = nullptr);

  ClientWindow& window() { return window_; }
  // Unmaps the window and so frees its addresses for the next session. Only after the session has ended and no thread
  // uses the window.
  void ReleaseWindow() { window_.Unmap(); }

  // In a forked child: closes the inherited socket, which would otherwise hide the parent's death from the server.
  // Async-signal-safe.
  void AbandonInChild();

 private:
  // One attempt of Adopt. If the window's addresses are taken in this process, the error's code is kWindowTaken
  // (client_connection.cc).
  static Result<std::unique_ptr<ClientConnection>> TryAdopt(os::Fd socket, const wire::Hello& hello, int timeout_ms);

  ClientConnection(os::Fd socket, os::Fd doorbell, os::Mapping channel, os::Mapping completions, ClientWindow window);

  os::Fd socket_;
  os::Fd doorbell_;
  os::Mapping channel_mapping_;
  os::Mapping completions_mapping_;
  ClientWindow window_;
  wire::Channel* channel_;
  const wire::Completions* completions_;
  PeerWatch watch_;
  RingProducer producer_;
  CompletionWaiter waiter_;
  ReplySlots replies_;
  std::mutex call_mutex_;
  uint32_t next_serial_ = 1;
};

}  // namespace tutti::ipc
