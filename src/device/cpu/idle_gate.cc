#include "device/cpu/idle_gate.h"

#include <sched.h>
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

// Until others have got as far as one waits for, which they do at once if they have a processor.
class Patience {
 public:
  void Wait() {
    const timespec nap{0, 20'000};
    if (++rounds_ <= 16) {
      sched_yield();
    } else {
      nanosleep(&nap, nullptr);
    }
  }

 private:
  int rounds_ = 0;
};

void Post(int eventfd, uint64_t count) {
  [[maybe_unused]] const ssize_t written = write(eventfd, &count, sizeof count);
}

}  // namespace

IdleGate::IdleGate() : epoll_(epoll_create1(EPOLL_CLOEXEC)), work_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!epoll_ || !work_) EndForLackOf("descriptors for the device's threads");
  Watch(epoll_.get(), work_.get(), kWork);
}

void IdleGate::WatchDoorbells(int epoll_fd) { Watch(epoll_.get(), epoll_fd, kDoorbell); }

// Those who get up claim a token for nobody, those who wake for somebody.
bool IdleGate::ClaimSleeper(uint64_t turn_into) {
  uint64_t tokens = tokens_.load(std::memory_order_seq_cst);
  while (static_cast<uint32_t>(tokens) != 0) {
    if (tokens_.compare_exchange_weak(tokens, tokens - kSleeper + turn_into, std::memory_order_seq_cst)) return true;
  }
  return false;
}

void IdleGate::WakeOne() {
  if (ClaimSleeper(kOwed)) Post(work_.get(), 1);
}

void IdleGate::WakeAll() {
  while (ClaimSleeper(kOwed)) Post(work_.get(), 1);
}

bool IdleGate::BecomeSleeper(uint32_t seen, bool takes_all) {
  uint64_t tokens = tokens_.load(std::memory_order_seq_cst);
  for (Patience patience;;) {
    if (!takes_all && tokens >= kOwed) {  // those who are owed a wake are on their way up
      if (epoch() != seen) return false;
      patience.Wait();
      tokens = tokens_.load(std::memory_order_seq_cst);
    } else if (tokens_.compare_exchange_weak(tokens, tokens + kSleeper, std::memory_order_seq_cst)) {
      return true;
    }
  }
}

bool IdleGate::TakePost() {
  uint64_t posts = 0;
  if (read(work_.get(), &posts, sizeof posts) != sizeof posts) return false;
  if (posts > 1) Post(work_.get(), posts - 1);  // edges that arrive together wake one waiter: pass the rest on
  tokens_.fetch_sub(kOwed, std::memory_order_seq_cst);
  return true;
}

// Whoever was woken by a post takes one: the edge was its own, and nobody else will hear of that post. Whoever gets up by
// itself gives its token back, if a waker has not claimed it: it must not take a post that somebody who sleeps has been
// promised. If there is neither, a waker is between its claim and its post.
void IdleGate::GetUp(bool by_post) {
  for (Patience patience;; patience.Wait()) {
    if (by_post && TakePost()) return;
    if (ClaimSleeper(0)) return;
    if (!by_post && TakePost()) return;
  }
}

IdleGate::Woken IdleGate::Sleep(uint32_t seen, uint64_t until_ns, bool takes_all) {
  Woken woken;
  bool by_post = false;
  if (!BecomeSleeper(seen, takes_all)) return woken;
  if (epoch() == seen) {
    timespec limit{};
    if (until_ns != kNever) {
      const uint64_t now_ns = NowNs();
      const uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
      limit = {static_cast<time_t>(left_ns / 1'000'000'000), static_cast<long>(left_ns % 1'000'000'000)};
    }
    epoll_event events[2];
    const int count = epoll_pwait2(epoll_.get(), events, 2, until_ns != kNever ? &limit : nullptr, nullptr);
    for (int i = 0; i < count; ++i) (events[i].data.u32 == kDoorbell ? woken.by_doorbell : by_post) = true;
  }
  GetUp(by_post);
  return woken;
}

}  // namespace tutti::device::cpu
