// Whether the server at the other end of a session still serves it. Sleeps of the client library are bounded; after
// each that timed out it asks here, so a call never outlives its server by more than one such sleep. A program that has
// closed the session's descriptors has ended its session.
#pragma once

#include <atomic>
#include <cstdint>

#include "os/file_id.h"
#include "wire/channel_layout.h"

namespace tutti::ipc {

// Thread-safe. Owns nothing: channel and socket outlive it.
class PeerWatch {
 public:
  PeerWatch(const wire::ChannelHeader* channel, int socket)
      : channel_(channel), socket_(socket), identity_(os::FileId::Of(socket)) {}

  // The CUresult this session has ended with, 0 while it lives. A load; does not ask the kernel.
  int32_t ended() const {
    const int32_t lost = lost_.load(std::memory_order_relaxed);
    return lost != 0 ? lost : static_cast<int32_t>(channel_->ended.load(std::memory_order_relaxed));
  }
  // The same, and looks whether the server has closed its end: a system call.
  int32_t Check();
  // Whether the socket's number is still the session's.
  bool HasSocket() const { return identity_.IsOf(socket_); }
  // A descriptor of the session is gone.
  void Lose();

 private:
  const wire::ChannelHeader* channel_;
  int socket_;
  const os::FileId identity_;
  std::atomic<int32_t> lost_{0};
};

}  // namespace tutti::ipc
