#include "device/gpu/current_executor.h"

#include <utility>

#include "cuda/result.h"

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

void CurrentExecutor::Unmap(uint64_t address, uint64_t bytes) {
  const auto unmapped = Ask({.kind = executor::RequestKind::kUnmapSlab, .address = address, .bytes = bytes});
  if (!unmapped)
    Lose({.code = cuda::CUDA_ERROR_DEVICE_UNAVAILABLE,
          .text = "memory cannot be unmapped by the program's executor: " + unmapped.error().text});
}

void CurrentExecutor::Expect(std::shared_ptr<ExecutorLink> executor) {
  std::lock_guard lock(mutex_);
  if (lost_) executor->Kill();
  expected_ = std::move(executor);
}

void CurrentExecutor::Arrive() {
  {
    std::lock_guard lock(mutex_);
    executor_ = std::exchange(expected_, nullptr);
  }
  changed_.notify_all();
}

void CurrentExecutor::Lose(const Error& why) {
  {
    std::lock_guard lock(mutex_);
    for (auto* const executor : {&expected_, &executor_}) {
      if (*executor != nullptr) (*executor)->Kill();
      executor->reset();
    }
    if (!lost_) lost_ = why;
  }
  changed_.notify_all();
}

void CurrentExecutor::Await() {
  std::lock_guard lock(mutex_);
  expected_.reset();
  executor_.reset();
  lost_.reset();
}

}  // namespace tutti::device::gpu
