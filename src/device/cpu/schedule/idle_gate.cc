#include "device/cpu/schedule/idle_gate.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <ctime>

#include "base/check.h"
#include "base/clock.h"

namespace tutti::device::cpu {
namespace {

constexpr uint32_t kWork = 0;
constexpr uint32_t kDoorbell = 1;

void Watch(int epoll, int fd, uint32_t what) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.u32 = what;
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) EndForLackOf("epoll_ctl");
}

}  // namespace

void GateFiles::Patience::Wait() {
  const timespec nap{0, 20'000};
  if (++rounds_ <= 16) {
    sched_yield();
  } else {
    nanosleep(&nap, nullptr);
  }
}

GateFiles::GateFiles() : epoll_(epoll_create1(EPOLL_CLOEXEC)), work_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!epoll_ || !work_) EndForLackOf("descriptors for the device's threads");
  Watch(epoll_.get(), work_.get(), kWork);
}

void GateFiles::WatchDoorbells(int epoll_fd) { Watch(epoll_.get(), epoll_fd, kDoorbell); }

void GateFiles::Post(uint64_t count) {
  [[maybe_unused]] const ssize_t written = write(work_.get(), &count, sizeof count);
}

uint64_t GateFiles::TakePosts() {
  uint64_t posts = 0;
  return read(work_.get(), &posts, sizeof posts) == sizeof posts ? posts : 0;
}

GateFiles::Edges GateFiles::Wait(uint64_t until_ns) {
  timespec limit{};
  if (until_ns != kNever) {
    const uint64_t now_ns = NowNs();
    const uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
    limit = {static_cast<time_t>(left_ns / 1'000'000'000), static_cast<long>(left_ns % 1'000'000'000)};
  }
  epoll_event events[2];
  const int count = epoll_pwait2(epoll_.get(), events, 2, until_ns != kNever ? &limit : nullptr, nullptr);
  Edges edges;
  for (int i = 0; i < count; ++i) (events[i].data.u32 == kDoorbell ? edges.doorbell : edges.post) = true;
  return edges;
}

template class BasicIdleGate<GateFiles>;

}  // namespace tutti::device::cpu
