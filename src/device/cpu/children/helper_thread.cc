#include "device/cpu/children/helper_thread.h"

#include <utility>

#include "os/thread.h"

namespace tutti::device::cpu {

bool HelperThread::Add(std::function<void()> job) {
  {
    std::lock_guard lock(mutex_);
    if (stopped_) return false;
    if (!thread_.joinable()) thread_ = os::TryStartThread("tutti-children", [this] { Loop(); });
    if (!thread_.joinable()) return false;
    jobs_.push_back(std::move(job));
  }
  changed_.notify_one();
  return true;
}

void HelperThread::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    jobs_.clear();
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void HelperThread::Loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopped_ || !jobs_.empty(); });
    if (stopped_) return;
    const std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    lock.lock();
  }
}

}  // namespace tutti::device::cpu
