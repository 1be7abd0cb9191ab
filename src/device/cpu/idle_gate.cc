#include "device/cpu/idle_gate.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
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

void Post(int eventfd, uint64_t count) {
  [[maybe_unused]] const ssize_t written = write(eventfd, &count, sizeof count);
}

}  // namespace

IdleGate::IdleGate() : epoll_(epoll_create1(EPOLL_CLOEXEC)), work_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!epoll_ || !work_) EndForLackOf("descriptors for the device's threads");
  Watch(epoll_.get(), work_.get(), kWork);
}

void IdleGate::WatchDoorbells(int epoll_fd) { Watch(epoll_.get(), epoll_fd, kDoorbell); }

bool IdleGate::ClaimSleeper() {
  uint32_t count = sleepers_.load(std::memory_order_seq_cst);
  while (count != 0) {
    if (sleepers_.compare_exchange_weak(count, count - 1, std::memory_order_seq_cst)) return true;
  }
  return false;
}

void IdleGate::WakeOne() {
  if (ClaimSleeper()) Post(work_.get(), 1);
}

void IdleGate::WakeAll() {
  while (ClaimSleeper()) Post(work_.get(), 1);
}

IdleGate::Woken IdleGate::Sleep(uint32_t seen, uint64_t until_ns) {
  Woken woken;
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  if (epoch() != seen) {
    ClaimSleeper();  // if it fails somebody posts for us; the post wakes the next sleeper for nothing, no harm
    return woken;
  }
  timespec limit{};
  if (until_ns != kNever) {
    const uint64_t now_ns = NowNs();
    const uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
    limit = {static_cast<time_t>(left_ns / 1'000'000'000), static_cast<long>(left_ns % 1'000'000'000)};
  }
  epoll_event events[2];
  const int count = epoll_pwait2(epoll_.get(), events, 2, until_ns != kNever ? &limit : nullptr, nullptr);
  for (int i = 0; i < count; ++i) woken.by_doorbell |= events[i].data.u32 == kDoorbell;

  uint64_t posts = 0;
  if (read(work_.get(), &posts, sizeof posts) == sizeof posts) {
    if (posts > 1) Post(work_.get(), posts - 1);  // edges that arrive together wake one waiter: pass the rest on
  } else {
    ClaimSleeper();
  }
  return woken;
}

}  // namespace tutti::device::cpu
