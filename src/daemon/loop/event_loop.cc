#include "daemon/loop/event_loop.h"

#include <sys/epoll.h>

#include <cerrno>

#include "base/clock.h"

namespace tutti::daemon {
namespace {

constexpr uint64_t kRetryNs = 100'000'000;

}  // namespace

Result<std::unique_ptr<EventLoop>> EventLoop::Create() {
  os::Fd epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return FailErrno("epoll_create1");
  return std::unique_ptr<EventLoop>(new EventLoop(std::move(epoll)));
}

WatchId EventLoop::Watch(int fd, uint32_t events, std::function<void(uint32_t)> ready) {
  const WatchId id = next_id_++;
  watched_.emplace(id, Watched{fd, events, std::make_shared<std::function<void(uint32_t)>>(std::move(ready))});
  if (Begin(id)) return id;
  if (errno != ENOSPC && errno != ENOMEM) {
    watched_.erase(id);
    return 0;
  }
  RetrySoon(id);
  return id;
}

bool EventLoop::Begin(WatchId id) {
  const Watched& watched = watched_.at(id);
  epoll_event event{};
  event.events = watched.events;
  event.data.u64 = id;
  return epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, watched.fd, &event) == 0;
}

void EventLoop::RetrySoon(WatchId id) {
  After(kRetryNs, [this, id] {
    if (watched_.count(id) != 0 && !Begin(id)) RetrySoon(id);
  });
}

void EventLoop::Change(WatchId id, uint32_t events) {
  const auto found = watched_.find(id);
  if (found == watched_.end() || found->second.events == events) return;
  found->second.events = events;
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, found->second.fd, &event);
}

void EventLoop::Unwatch(WatchId id) {
  const auto found = watched_.find(id);
  if (found == watched_.end()) return;
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, found->second.fd, nullptr);
  watched_.erase(found);
}

TimerId EventLoop::After(uint64_t delay_ns, std::function<void()> due) {
  const TimerId id = next_id_++;
  const uint64_t due_ns = NowNs() + delay_ns;
  timers_.emplace(DueTime(due_ns, id), std::move(due));
  due_ns_.emplace(id, due_ns);
  return id;
}

void EventLoop::Cancel(TimerId id) {
  if (const auto entry = due_ns_.extract(id); !entry.empty()) timers_.erase(DueTime(entry.mapped(), id));
}

int EventLoop::MillisecondsToNextTimer() const {
  if (timers_.empty()) return -1;
  const uint64_t now = NowNs();
  const uint64_t due = timers_.begin()->first.first;
  return due <= now ? 0 : static_cast<int>((due - now) / 1'000'000u + 1);
}

void EventLoop::RunTimers() {
  const uint64_t now = NowNs();
  while (!timers_.empty() && timers_.begin()->first.first <= now) {
    const auto timer = timers_.extract(timers_.begin());
    due_ns_.erase(timer.key().second);
    timer.mapped()();
  }
}

void EventLoop::Run() {
  running_ = true;
  while (running_) {
    epoll_event events[64];
    const int count = epoll_wait(epoll_.get(), events, std::size(events), MillisecondsToNextTimer());
    for (int i = 0; i < count && running_; ++i) {
      const uint64_t key = events[i].data.u64;  // epoll_event is packed: no reference into it
      const auto found = watched_.find(key);
      if (found == watched_.end()) continue;  // removed by a function called before it
      const auto ready = found->second.ready;  // keeps the function alive if it removes itself
      (*ready)(events[i].events);
    }
    RunTimers();
  }
}

}  // namespace tutti::daemon
