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

void Aside::PostIn(std::chrono::milliseconds time, std::function<void()> work) {
  {
    std::lock_guard lock(mutex_);
    later_.emplace(std::chrono::steady_clock::now() + time, std::move(work));
  }
  changed_.notify_all();
}

void Aside::Run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    const bool is_time = !later_.empty() && later_.begin()->first <= std::chrono::steady_clock::now();
    if (waiting_.empty() && !is_time) {
      if (later_.empty())
        changed_.wait(lock);
      else
        changed_.wait_until(lock, later_.begin()->first);
      continue;
    }
    std::function<void()> work;
    if (is_time) {
      work = std::move(later_.extract(later_.begin()).mapped());
    } else {
      work = std::move(waiting_.front());
      waiting_.pop_front();
    }
    lock.unlock();
    work();
    work = nullptr;  // what it has may have more to do as it is dropped
    lock.lock();
    if (!is_time) ++done_;
    changed_.notify_all();
  }
}

}  // namespace tutti::device::gpu
