#include "os/epoll.h"

#include <algorithm>

namespace tutti::os {
namespace {

constexpr size_t kBatch = 64;

}  // namespace

Result<Epoll> Epoll::Create() {
  Fd fd(epoll_create1(EPOLL_CLOEXEC));
  if (!fd) return FailErrno("epoll_create1");
  return Epoll(std::move(fd));
}

Status Epoll::Add(int fd, uint32_t events, uint64_t key) {
  epoll_event event{.events = events, .data = {.u64 = key}};
  if (epoll_ctl(fd_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return FailErrno("epoll_ctl");
  return {};
}

Status Epoll::Modify(int fd, uint32_t events, uint64_t key) {
  epoll_event event{.events = events, .data = {.u64 = key}};
  if (epoll_ctl(fd_.get(), EPOLL_CTL_MOD, fd, &event) != 0) return FailErrno("epoll_ctl");
  return {};
}

void Epoll::Remove(int fd) { epoll_ctl(fd_.get(), EPOLL_CTL_DEL, fd, nullptr); }

std::span<Epoll::Event> Epoll::Wait(std::span<Event> room, int timeout_ms) {
  epoll_event events[kBatch];
  const int count = epoll_wait(fd_.get(), events, static_cast<int>(std::min(room.size(), kBatch)), timeout_ms);
  for (int i = 0; i < count; ++i) room[static_cast<size_t>(i)] = Event{events[i].data.u64, events[i].events};
  return room.first(count < 0 ? 0 : static_cast<size_t>(count));
}

}  // namespace tutti::os
