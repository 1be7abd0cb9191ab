#include "executor/leftovers.h"

#include <chrono>
#include <utility>

#include "os/thread.h"

namespace tutti::executor {

Leftovers::~Leftovers() {
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (unloads_.joinable()) unloads_.join();
}

Status Leftovers::UnloadNow(cuda::CUmodule module) const {
  return vendor_.Check(vendor_.cuModuleUnload(module), "cuModuleUnload");
}

// A kernel that begins right behind the look is waited for all the same: whatever is launched may be endless, and to
// hold up launches is what must not be.
Status Leftovers::Unload(cuda::CUmodule module, uint64_t bytes) {
  if (!of_->anything_runs()) return UnloadNow(module);
  std::unique_lock lock(mutex_);
  if (bytes > kMostBytes - left_bytes_ || left_count_ == kMostAtAll) {
    lock.unlock();
    return UnloadNow(module);
  }
  if (!Starts()) {
    lock.unlock();
    return UnloadNow(module);
  }
  left_.push_back(module);
  left_bytes_ += bytes;
  ++left_count_;
  changed_.notify_all();
  return {};
}

// With the lock.
bool Leftovers::Starts() {
  if (!unloads_.joinable()) unloads_ = os::TryStartThread("leftovers", [this] { Run(); });
  return unloads_.joinable();
}

// Without room for a thread they stay until somebody asks for less once more, or ends.
void Leftovers::LookForLimits() {
  if (!of_->HasExcessLimits()) return;
  std::lock_guard lock(mutex_);
  if (!Starts()) return;
  lowers_ = true;
  changed_.notify_all();
}

void Leftovers::Run() {
  constexpr std::chrono::milliseconds kLook{20};
  vendor_.cuCtxSetCurrent(context_);
  std::unique_lock lock(mutex_);
  while (!ends_) {
    if (left_.empty() && !lowers_) {
      changed_.wait(lock);
    } else if (left_.size() <= kMost && of_->anything_runs()) {
      changed_.wait_for(lock, kLook);
    } else {
      const std::vector<cuda::CUmodule> modules = std::exchange(left_, {});
      const uint64_t bytes = left_bytes_;
      lock.unlock();
      for (const cuda::CUmodule module : modules) {
        if (const Status unloaded = UnloadNow(module); !unloaded) of_->NoteFailure(unloaded.error());
      }
      of_->LowerLimits();
      const bool has_excess = of_->HasExcessLimits();  // something has begun, or another one is being raised
      lock.lock();
      lowers_ = has_excess;
      if (has_excess) changed_.wait_for(lock, kLook);
      left_bytes_ -= bytes;
      left_count_ -= modules.size();
    }
  }
}

}  // namespace tutti::executor
