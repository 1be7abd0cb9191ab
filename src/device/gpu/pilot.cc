#include "device/gpu/pilot.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "device/gpu/gpu_space.h"
#include "os/thread.h"

namespace tutti::device::gpu {
namespace {

constexpr uint64_t kSpinNs = 30'000;  // without finding anything, before the thread sleeps
constexpr uint64_t kLookNs = 20'000'000;  // between two looks whether an executor has ended
constexpr uint64_t kSleepNs = 200'000'000;  // a backstop: bells end it

}  // namespace

Pilot::Pilot() : bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) { Start(); }

Pilot::~Pilot() { Stop(); }

void Pilot::Start() {
  thread_ = os::StartThread("gpu-pilot", [this] { Run(); });
}

void Pilot::Stop() {
  stop_.store(true, std::memory_order_seq_cst);
  eventfd_write(bell_.get(), 1);
  thread_.join();
  stop_.store(false, std::memory_order_seq_cst);
}

void Pilot::SetIdleWork(Backend::IdleWork work) {
  Stop();
  work_ = std::move(work);
  Start();
}

void Pilot::Add(GpuSpace* space) {
  {
    std::lock_guard lock(mutex_);
    spaces_.push_back(space);
  }
  Look();
}

void Pilot::Look() const { eventfd_write(bell_.get(), 1); }

void Pilot::Remove(GpuSpace* space) {
  std::lock_guard lock(mutex_);
  std::erase(spaces_, space);
  Look();  // others may have waited for it
}

void Pilot::Run() {
  uint64_t now_ns = NowNs(), found_ns = now_ns, looked_ns = now_ns;
  counted_ns_ = now_ns;
  while (!stop_.load(std::memory_order_seq_cst)) {
    CountTime(now_ns);  // before there is new work
    const bool taken = work_.poll && work_.poll();
    const bool done = Harvest(now_ns);
    now_ns = NowNs();
    if (now_ns - looked_ns > kLookNs) {
      LookForEnds();
      looked_ns = now_ns;
    }
    if (taken || done) {
      found_ns = now_ns;
    } else if (now_ns - found_ns < kSpinNs) {
      CpuRelax();
    } else if (!work_.arm || !work_.arm()) {
      Sleep();
      found_ns = now_ns = NowNs();
    }
  }
  if (work_.leave) work_.leave();
}

bool Pilot::Harvest(uint64_t now_ns) {
  std::lock_guard lock(mutex_);
  bool found = false;
  for (GpuSpace* const space : spaces_) found |= space->Harvest(now_ns, computing_);
  return found;
}

// Since the last time.
void Pilot::CountTime(uint64_t now_ns) {
  const uint64_t passed_ns = now_ns - std::exchange(counted_ns_, now_ns);
  std::lock_guard lock(mutex_);
  // At least one: a Space may begin to compute before it is charged.
  computing_ = std::max<uint64_t>(static_cast<uint64_t>(std::ranges::count_if(spaces_, &GpuSpace::computes)), 1);
  bool normal = false;
  for (GpuSpace* const space : spaces_) {
    if (space->has_work()) space->CountWanted(passed_ns);
    if (!space->busy()) continue;
    space->CountTime(now_ns, computing_);
    normal |= !space->is_below_normal();
  }
  for (GpuSpace* const space : spaces_) space->LetPrecede(normal);
}

void Pilot::LookForEnds() {
  std::lock_guard lock(mutex_);
  for (GpuSpace* const space : spaces_) space->LookForEnd();
}

void Pilot::Sleep() {
  std::vector<pollfd> wait = {{bell_.get(), POLLIN, 0}, {work_.doorbell_epoll_fd, POLLIN, 0}};
  const size_t of_spaces = wait.size();
  std::vector<const GpuSpace*> sleeping;
  uint64_t look_at_ns = kNever;
  {
    std::lock_guard lock(mutex_);
    for (GpuSpace* const space : spaces_) {
      wait.push_back({space->AwaitWake(), POLLIN, 0});
      sleeping.push_back(space);
      look_at_ns = std::min(look_at_ns, space->look_at_ns());
    }
  }
  // What was done before an executor knew that we sleep.
  const uint64_t now_ns = NowNs();
  const bool found = Harvest(now_ns);
  const uint64_t sleep_ns = found ? 0 : std::min(kSleepNs, look_at_ns - std::min(look_at_ns, now_ns));
  const timespec timeout{0, static_cast<long>(sleep_ns)};
  ppoll(wait.data(), wait.size(), &timeout, nullptr);
  if (work_.woke) work_.woke();
  if (wait[1].revents != 0 && work_.rang) work_.rang();
  if (wait[0].revents != 0) {
    eventfd_t value = 0;
    eventfd_read(bell_.get(), &value);
  }
  std::lock_guard lock(mutex_);
  for (GpuSpace* const space : spaces_) {
    const auto at = static_cast<size_t>(std::ranges::find(sleeping, space) - sleeping.begin());
    if (at < sleeping.size() && wait[of_spaces + at].revents != 0) space->Woken();
  }
}

}  // namespace tutti::device::gpu
