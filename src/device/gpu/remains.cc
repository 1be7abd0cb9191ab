#include "device/gpu/remains.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "os/thread.h"

namespace tutti::device::gpu {

Remains::Remains() {
  thread_ = os::StartThread("gpu-remains", [this] { Run(); });
}

Remains::~Remains() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Remains::Keep(std::vector<PlaceEnd> ends, std::shared_ptr<const void> what) {
  {
    std::lock_guard lock(mutex_);
    kept_.push_back({.ends = std::move(ends), .what = std::move(what)});
  }
  changed_.notify_all();
}

void Remains::Run() {
  constexpr std::chrono::milliseconds kLook{50};  // while there is something
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (kept_.empty()) {
      changed_.wait(lock);
      continue;
    }
    changed_.wait_for(lock, kLook);
    for (Kept& kept : kept_) std::erase_if(kept.ends, [](const PlaceEnd& end) { return end.IsOver(); });
    const auto over = std::ranges::partition(kept_, [](const Kept& kept) { return !kept.ends.empty(); });
    std::vector<Kept> dropped(std::make_move_iterator(over.begin()), std::make_move_iterator(over.end()));
    kept_.erase(over.begin(), over.end());
    if (dropped.empty()) continue;
    lock.unlock();  // what is dropped has locks of its own
    dropped.clear();
    lock.lock();
  }
}

}  // namespace tutti::device::gpu
