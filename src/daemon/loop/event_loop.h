// One thread's waiting: descriptors and timers, each with the function to call. Daemon thread only.
//
// A function may add and remove watches and timers freely, its own included; nothing is called after its removal.
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
  // Unwatch. 0 if it is none that can be waited for; where the kernel has no room for another one at the moment, the
  // watch begins as soon as it has.
  WatchId Watch(int fd, uint32_t events, std::function<void(uint32_t)> ready);
  void Change(WatchId id, uint32_t events);
  void Unwatch(WatchId id);

  // Calls `due` once, `delay_ns` from now.
  TimerId After(uint64_t delay_ns, std::function<void()> due);
  void Cancel(TimerId id);

  // Waits and calls until Stop.
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
  std::unordered_map<TimerId, uint64_t> due_ns_;  // of each timer: a connection has one, and storms of them cancel many
  uint64_t next_id_ = 1;
  bool running_ = false;
};

}  // namespace tutti::daemon
