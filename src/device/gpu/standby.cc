#include "device/gpu/standby.h"

#include <utility>

#include "cuda/result.h"
#include "os/thread.h"

namespace tutti::device::gpu {

Standby::Standby(std::shared_ptr<os::Spawner> spawner) : spawner_(std::move(spawner)) {
  thread_ = os::StartThread("gpu-standby", [this] { Run(); });
}

Standby::~Standby() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Standby::Prepare() {
  std::lock_guard lock(mutex_);
  if (ready_ && *ready_ != nullptr) return;
  wanted_ = true;
  changed_.notify_all();
}

Result<std::shared_ptr<ExecutorProcess>> Standby::Take(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const auto await = [&] { return changed_.wait(lock, stop, [this] { return !wanted_; }); };
  const auto gone = [] { return Fail(cuda::CUDA_ERROR_CONTEXT_IS_DESTROYED, "who waits for an executor has gone"); };
  if (!await() || stop.stop_requested()) return gone();
  // The one that waited may have died meanwhile, and what failed then may succeed now. Of several that wait here, the
  // first one takes what has come, or the reason why nothing has, so the next one has another one started.
  if (!ready_ || *ready_ == nullptr || (*ready_)->HasEnded()) {
    do {
      wanted_ = true;
      changed_.notify_all();
      if (!await()) return gone();  // the next one takes what comes
    } while (ready_ && *ready_ == nullptr);
  }
  auto taken = std::exchange(ready_, std::shared_ptr<ExecutorProcess>());
  wanted_ = taken.has_value();
  changed_.notify_all();
  return taken;
}

void Standby::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || wanted_; });
    if (stop_) return;
    lock.unlock();
    auto started = ExecutorProcess::Start(spawner_);
    lock.lock();
    ready_ = std::move(started);
    wanted_ = false;
    changed_.notify_all();
  }
}

}  // namespace tutti::device::gpu
