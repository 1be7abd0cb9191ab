// The doorbells of all rings behind one epoll descriptor, and a bell of its own that any thread may ring.
#pragma once

#include <sys/eventfd.h>

#include <array>
#include <cstdint>

#include "base/error.h"
#include "os/epoll.h"
#include "os/fd.h"

namespace tutti::server {

// Thread-safe.
class Bells {
 public:
  static Result<Bells> Create();

  Status Add(int doorbell_fd, uint32_t number);
  void Remove(int doorbell_fd);
  // Rings its own bell.
  void Kick() { eventfd_write(kick_.get(), 1); }

  // Calls visit(number) for each ring whose doorbell has rung since the last visit. Never blocks.
  template <typename Visit>
  void Harvest(Visit visit) {
    std::array<os::Epoll::Event, 64> room;
    for (;;) {
      const auto events = epoll_.Wait(room, 0);
      for (const auto& event : events) {
        if (event.key != kKickKey) visit(static_cast<uint32_t>(event.key));
      }
      if (events.size() < room.size()) return;
    }
  }
  // Sleeps until a doorbell that nobody has visited rings: true; false on timeout.
  bool Sleep(uint64_t timeout_ns);
  int epoll_fd() const { return epoll_.fd(); }

 private:
  static constexpr uint64_t kKickKey = ~0ull;

  Bells(os::Epoll epoll, os::Fd kick) : epoll_(std::move(epoll)), kick_(std::move(kick)) {}

  os::Epoll epoll_;
  os::Fd kick_;
};

}  // namespace tutti::server
