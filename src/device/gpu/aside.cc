#include "device/gpu/aside.h"

#include <utility>

#include "cuda/result.h"
#include "os/thread.h"

namespace tutti::device::gpu {

void Aside::Stop() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Status Aside::Start() {
  thread_ = os::TryStartThread("gpu-aside", [this] { Run(); });
  if (thread_.joinable()) return {};
  return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, "the server can have no more threads");
}

void Aside::Post(std::function<void()> work) {
  {
    std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(work));
    ++posted_;
  }
  changed_.notify_all();
}

void Aside::Wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this, all = posted_] { return stop_ || done_ >= all; });
}

void Aside::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || !waiting_.empty(); });
    if (stop_) return;
    const std::function<void()> work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work();
    lock.lock();
    ++done_;
    changed_.notify_all();
  }
}

}  // namespace tutti::device::gpu
