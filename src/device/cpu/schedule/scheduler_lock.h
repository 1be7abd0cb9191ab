// The lock of a device's scheduler. Whoever measures or simulates may watch how long it is held.
#pragma once

#include <mutex>

namespace tutti::device::cpu {

// Called with the lock held.
class LockWatcher {
 public:
  virtual void Locked() = 0;
  virtual void Unlocks() = 0;

 protected:
  ~LockWatcher() = default;
};

class SchedulerLock {
 public:
  explicit SchedulerLock(LockWatcher* watcher) : watcher_(watcher) {}
  SchedulerLock(const SchedulerLock&) = delete;

  void lock() {
    mutex_.lock();
    if (watcher_ != nullptr) watcher_->Locked();
  }
  void unlock() {
    if (watcher_ != nullptr) watcher_->Unlocks();
    mutex_.unlock();
  }

 private:
  std::mutex mutex_;
  LockWatcher* const watcher_;  // null: nobody
};

}  // namespace tutti::device::cpu
