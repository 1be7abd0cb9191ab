// Closing what a stranger had a hand in, without waiting for the stranger.
//
// Closing a socket closes the descriptors that lie unread in its queue, and one of those may be a TCP socket with
// SO_LINGER: its close() waits as long as its owner likes. So a thread of its own closes, and no single close holds up
// what is given to it afterwards for more than a moment: a signal interrupts it (the connection goes on lingering in
// the kernel).
//
// No signal helps who closes a FUSE file that has data to write back. So a socket takes no descriptors where it can do
// without (RefuseDescriptors in os/socket.h), and is closed at once. Before Linux 6.16 no socket can be told that:
// there, that thread waits.
//
// A descriptor must not be received to be refused: one of a FUSE file waits for its owner at each close().
#pragma once

#include "os/fd.h"

namespace tutti::os {

// Returns at once. Takes SIGRTMIN for the purpose, in its own thread alone, which the first use of this starts.
// Thread-safe. What takes no descriptors is closed here; so is everything in the child of a fork, and where no thread
// can be started.
void CloseAside(Fd fd);

// Waits until everything given to CloseAside is closed: before exec, which would close it here. At the start of a
// program: starts the thread while there certainly can be one.
void AwaitClosed();

// A descriptor that is closed aside.
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
  // Of a Unix socket: from here on nobody sends on it, and each end sees that. If nothing lies unread in it when it is
  // closed, then it is closed by who closes it: there is nothing to wait for.
  void ShutDown();
  // Of one that has been shut down: nothing lies unread in it, from now on.
  bool IsDrained() const;

 private:
  void Close();

  Fd fd_;
  bool shut_down_ = false;
};

}  // namespace tutti::os
