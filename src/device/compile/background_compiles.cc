#include "device/compile/background_compiles.h"

#include <algorithm>
#include <set>
#include <utility>

#include "os/thread.h"

namespace tutti::device {

BackgroundCompiles::~BackgroundCompiles() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

// With the lock held.
void BackgroundCompiles::StartThread() {
  auto thread = os::TryStartThread("compile-later", [this] { Loop(); });
  if (thread.joinable()) threads_.push_back(std::move(thread));
}

bool BackgroundCompiles::HasRoomFor(const void* client) {
  const std::lock_guard lock(mutex_);
  if (threads_.empty()) StartThread();
  if (threads_.empty()) return false;
  const auto of_client = std::ranges::count_if(
      queue_, [&](const Queued& queued) { return queued.job.client == client && queued.IsWanted(); });
  if (static_cast<size_t>(of_client) >= kMostOfClient) return false;
  return queue_.size() < kMost || !std::ranges::all_of(queue_, &Queued::IsWanted);
}

// Each image counts once.
bool BackgroundCompiles::MayKeep(const ImageStore::Image& image) const {
  std::set<const ImageStore::Image*> kept;
  for (const Queued& queued : queue_) kept.insert(queued.job.image.get());
  if (kept.contains(&image)) return true;
  uint64_t bytes = image.size();
  for (const ImageStore::Image* other : kept) bytes += other != nullptr ? other->size() : 0;
  return bytes <= kMostKeptBytes;
}

// A client's jobs have turns one after the other, from now on; so each client that has some is next soon.
void BackgroundCompiles::Add(Job job) {
  Queue dropped;  // without the lock
  {
    const std::lock_guard lock(mutex_);
    if (free_threads_ <= queue_.size() && threads_.size() < most_threads_) StartThread();
    if (queue_.size() >= kMost) {
      const auto unwanted = std::ranges::find_if_not(queue_, &Queued::IsWanted);
      if (unwanted != queue_.end()) dropped.splice(dropped.begin(), queue_, unwanted);
    }
    uint64_t turn = turn_;
    for (const Queued& queued : queue_) {
      if (queued.job.client == job.client) turn = std::max(turn, queued.turn + 1);
    }
    Queued queued{.job = std::move(job), .image = {}, .turn = turn};
    queued.image = queued.job.image;
    if (!MayKeep(*queued.job.image)) queued.job.image.reset();
    queue_.push_back(std::move(queued));
  }
  changed_.notify_one();
}

// With the lock held: false if there is none.
bool BackgroundCompiles::Take(Job* job, Queue* dropped) {
  auto next = queue_.end();
  for (auto each = queue_.begin(); each != queue_.end();) {
    const auto at = each++;
    if (at->image.expired()) {
      dropped->splice(dropped->end(), queue_, at);
      continue;
    }
    const auto rank = [](const Queued& queued) { return std::pair(!queued.IsWanted(), queued.turn); };
    if (next == queue_.end() || rank(*at) < rank(*next)) next = at;
  }
  if (next == queue_.end()) return false;
  turn_ = std::max(turn_, next->turn);
  *job = std::move(next->job);
  job->image = next->image.lock();
  dropped->splice(dropped->end(), queue_, next);
  return job->image != nullptr;
}

void BackgroundCompiles::Loop() {
  std::unique_lock lock(mutex_);
  while (!stop_.load(std::memory_order_relaxed)) {
    Job job;
    Queue dropped;
    const bool taken = Take(&job, &dropped);
    if (!taken && dropped.empty()) {
      ++free_threads_;
      changed_.wait(lock);
      --free_threads_;
      continue;
    }
    lock.unlock();
    if (taken) work_(job, stop_);
    job = {};
    dropped.clear();
    lock.lock();
  }
}

}  // namespace tutti::device
