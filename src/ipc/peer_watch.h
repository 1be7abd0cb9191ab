// Detects that a session's server is gone. All sleeps of the client library have a timeout, and after each timeout it
// checks here, so a call never outlives its server by more than one such sleep. A program that closes the session's
// descriptors ends its session.
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

  // The CUresult this session has ended with, 0 while it lives. A load, no system call.
  int32_t ended() const {
    const int32_t lost = lost_.load(std::memory_order_relaxed);
    return lost != 0 ? lost : static_cast<int32_t>(channel_->ended.load(std::memory_order_relaxed));
  }
  // The same, and also checks whether the server has closed its end: a system call.
  int32_t Check();
  // Whether the file descriptor still refers to the session's socket.
  bool HasSocket() const { return identity_.IsOf(socket_); }
  // Marks the session as lost: one of its descriptors is gone.
  void Lose();

 private:
  const wire::ChannelHeader* channel_;
  int socket_;
  const os::FileId identity_;
  std::atomic<int32_t> lost_{0};
};

}  // namespace tutti::ipc
