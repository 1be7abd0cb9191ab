#include "device/gpu/current_executor.h"

#include <utility>

namespace tutti::device::gpu {

Result<ExecutorLink::Reply> CurrentExecutor::Ask(const executor::Request& request, int file) {
  std::shared_ptr<ExecutorLink> executor;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return executor_ != nullptr || lost_; });
    if (lost_) return std::unexpected(*lost_);
    executor = executor_;
  }
  return executor->Ask(request, file);
}

void CurrentExecutor::Set(std::shared_ptr<ExecutorLink> executor) {
  {
    std::lock_guard lock(mutex_);
    executor_ = std::move(executor);
    lost_.reset();
  }
  changed_.notify_all();
}

void CurrentExecutor::Lose(const Error& why) {
  {
    std::lock_guard lock(mutex_);
    if (executor_ != nullptr) executor_->Kill();
    executor_.reset();
    lost_ = why;
  }
  changed_.notify_all();
}

void CurrentExecutor::Await() {
  std::lock_guard lock(mutex_);
  executor_.reset();
  lost_.reset();
}

}  // namespace tutti::device::gpu
