// epoll: many descriptors, one wait. Each is registered with a 64-bit key of the caller's.
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <span>

#include "base/error.h"
#include "os/fd.h"

namespace tutti::os {

// Thread-safe.
class Epoll {
 public:
  struct Event {
    uint64_t key;
    uint32_t events;  // EPOLLIN, EPOLLHUP, ...
  };

  static Result<Epoll> Create();

  // `events`: EPOLLIN and so on; EPOLLHUP and EPOLLERR are always reported.
  Status Add(int fd, uint32_t events, uint64_t key);
  Status Modify(int fd, uint32_t events, uint64_t key);
  void Remove(int fd);

  // Waits up to `timeout_ms` (< 0: no limit) for the first event and returns all that are ready. May return none early.
  std::span<Event> Wait(std::span<Event> room, int timeout_ms);

  int fd() const { return fd_.get(); }

 private:
  explicit Epoll(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace tutti::os
