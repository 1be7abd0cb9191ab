#include "executor/leftovers.h"

#include <chrono>
#include <utility>

#include "os/thread.h"

namespace tutti::executor {
namespace {

constexpr std::chrono::milliseconds kLook{20};

}  // namespace

Leftovers::~Leftovers() {
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Status Leftovers::UnloadNow(cuda::CUmodule module) const {
  return vendor_.Check(vendor_.cuModuleUnload(module), "cuModuleUnload");
}

bool Leftovers::HasRoom(const void* place, uint64_t bytes) const {
  const auto fits = [bytes](const Share& share, size_t most, uint64_t most_bytes) {
    return share.count < most && bytes <= most_bytes - share.bytes;
  };
  if (!fits(all_, kMost, kMostBytes)) return false;
  const auto share = shares_.find(place);
  return place == nullptr || fits(share == shares_.end() ? Share{} : share->second, kMostOfPlace, kMostBytesOfPlace);
}

// With the lock.
bool Leftovers::Leave(const Left& left) {
  if (!HasRoom(left.place, left.bytes) || !Starts()) return false;
  left_.push_back(left);
  const auto add = [&](Share& share) {
    ++share.count;
    share.bytes += left.bytes;
  };
  add(all_);
  if (left.place != nullptr) add(shares_[left.place]);
  changed_.notify_all();
  return true;
}

// With the lock.
void Leftovers::Release() {
  const auto take = [this](Share& share) {
    --share.count;
    share.bytes -= unloading_.bytes;
  };
  take(all_);
  if (unloading_.place == nullptr) return;
  const auto share = shares_.find(unloading_.place);
  take(share->second);
  if (share->second.count == 0) shares_.erase(share);
}

// A kernel that begins right behind the look is waited for all the same: whatever is launched may be endless, and to
// hold up launches is what must not be.
tutti::Result<bool> Leftovers::Unload(const void* place, cuda::CUmodule module, uint64_t bytes) {
  if (!NothingRuns()) {
    std::lock_guard lock(mutex_);
    return Leave({.place = place, .module = module, .bytes = bytes});
  }
  TUTTI_TRY(UnloadNow(module));
  return true;
}

Status Leftovers::UnloadInTheEnd(const void* place, cuda::CUmodule module, uint64_t bytes,
                                 const std::function<bool()>& gives_up) {
  for (;;) {
    TUTTI_ASSIGN(const bool unloaded, Unload(place, module, bytes));
    if (unloaded) return {};
    if (gives_up && gives_up())
      return Fail(cuda::CUDA_ERROR_CONTEXT_IS_DESTROYED, "the place ends, and a module of it is loaded");
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kLook);
  }
}

void Leftovers::Forget(const void* place) {
  std::lock_guard lock(mutex_);
  shares_.erase(place);
  for (Left& left : left_)
    if (left.place == place) left.place = nullptr;
  if (unloading_.place == place) unloading_.place = nullptr;
}

// With the lock.
bool Leftovers::Starts() {
  if (!thread_.joinable()) thread_ = os::TryStartThread("leftovers", [this] { Run(); });
  return thread_.joinable() && works_;
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
  const Status is_current = vendor_.Check(vendor_.cuCtxSetCurrent(context_), "cuCtxSetCurrent");
  if (!is_current && vendor_.has_said_the_end()) of_->NoteFailure(is_current.error());
  std::unique_lock lock(mutex_);
  works_ = is_current.has_value();
  while (works_ && !ends_) {
    if (left_.empty() && !lowers_)
      changed_.wait(lock);
    else if (!NothingRuns())
      changed_.wait_for(lock, kLook);
    else
      UnloadWhatIsLeft(lock);
  }
}

// As long as nothing begins.
void Leftovers::UnloadWhatIsLeft(std::unique_lock<std::mutex>& lock) {
  while (!left_.empty() && NothingRuns()) {
    unloading_ = left_.back();
    left_.pop_back();
    lock.unlock();
    if (const Status unloaded = UnloadNow(unloading_.module); !unloaded) of_->NoteFailure(unloaded.error());
    lock.lock();
    Release();
    unloading_ = {};
    changed_.notify_all();
  }
  if (!left_.empty()) return;
  lock.unlock();
  of_->LowerLimits();
  const bool has_excess = of_->HasExcessLimits();  // something has begun, or another one is being raised
  lock.lock();
  lowers_ = has_excess;
  if (has_excess) changed_.wait_for(lock, kLook);
}

}  // namespace tutti::executor
