// An event loop over descriptors and timers, each with a callback. Daemon thread only.
//
// A callback may add and remove watches and timers freely, its own included; after removal a callback is never called.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "os/fd.h"

namespace tutti::daemon {

using WatchId = uint64_t;
using TimerId = uint64_t;

class EventLoop {
 public:
  static Result<std::unique_ptr<EventLoop>> Create();

  // Calls `ready` with the EPOLL* events of `fd` while they last (level-triggered). The caller keeps `fd` open until
  // Unwatch. 0 if `fd` cannot be polled. If the kernel has no room for another watch at the moment, it begins as soon
  // as there is.
  WatchId Watch(int fd, uint32_t events, std::function<void(uint32_t)> ready);
  void Change(WatchId id, uint32_t events);
  void Unwatch(WatchId id);

  // Calls `due` once, `delay_ns` from now.
  TimerId After(uint64_t delay_ns, std::function<void()> due);
  void Cancel(TimerId id);

  // Runs until Stop.
  void Run();
  void Stop() { running_ = false; }

 private:
  struct Watched {
    int fd;
    uint32_t events;
    std::shared_ptr<std::function<void(uint32_t)>> ready;
  };
  using DueTime = std::pair<uint64_t, TimerId>;

  explicit EventLoop(os::Fd epoll) : epoll_(std::move(epoll)) {}
  bool Begin(WatchId id);
  void RetrySoon(WatchId id);
  int MillisecondsToNextTimer() const;
  void RunTimers();

  os::Fd epoll_;
  std::unordered_map<WatchId, Watched> watched_;
  std::map<DueTime, std::function<void()>> timers_;
  std::unordered_map<TimerId, uint64_t>
      due_ns_;  // of each timer: every connection has one, so cancelling must be cheap
  uint64_t next_id_ = 1;
  bool running_ = false;
};

}  // namespace tutti::daemon
