// Closing descriptors that an untrusted peer has touched, without blocking on that peer.
//
// Closing a Unix socket closes the descriptors that lie unread in its queue. One of those may be a TCP socket with
// SO_LINGER, whose close() blocks as long as its owner likes. So a dedicated thread closes, and a signal interrupts
// each close that holds up the next for more than a moment (the connection goes on lingering in the kernel).
//
// No signal interrupts the close of a FUSE file with data to write back. Sockets that need no descriptors therefore
// refuse them (RefuseDescriptors in os/socket.h) and are closed at once. Before Linux 6.16 a socket cannot refuse them;
// there, the closing thread blocks.
//
// Refusing a descriptor by receiving and closing it is no way out: each close() of a FUSE file waits for its owner.
#pragma once

#include "os/fd.h"

namespace tutti::os {

// Returns at once; the closing thread, which the first call starts, closes. Uses SIGRTMIN, in that thread alone. The
// caller itself closes a socket that refuses descriptors, and any descriptor in a forked child or where no thread can
// be started. Thread-safe.
void CloseAside(Fd fd);

// Waits until everything given to CloseAside is closed. Called before exec, which would otherwise close it in this
// thread, and at the start of a program, to start the thread while the system certainly has room for it.
void AwaitClosed();

// A descriptor that CloseAside closes.
class StrangersFd {
 public:
  StrangersFd() = default;
  explicit StrangersFd(Fd fd) : fd_(std::move(fd)) {}
  StrangersFd(StrangersFd&& other) noexcept
      : fd_(std::move(other.fd_)), shut_down_(std::exchange(other.shut_down_, false)) {}
  StrangersFd& operator=(StrangersFd&& other) noexcept {
    if (this != &other) {
      Close();
      fd_ = std::move(other.fd_);
      shut_down_ = std::exchange(other.shut_down_, false);
    }
    return *this;
  }
  ~StrangersFd() { Close(); }

  int get() const { return fd_.get(); }
  explicit operator bool() const { return static_cast<bool>(fd_); }
  Fd Release() {
    shut_down_ = false;
    return std::move(fd_);
  }
  // For a Unix socket: shuts it down, which each end sees; nobody can send on it any more. If nothing lies unread in it
  // by the time it is closed, it is closed directly, since nothing can block.
  void ShutDown();
  // For a socket that has been shut down: nothing lies unread in it, now or later.
  bool IsDrained() const;

 private:
  void Close();

  Fd fd_;
  bool shut_down_ = false;
};

}  // namespace tutti::os
