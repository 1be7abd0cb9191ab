#include "device/compile/background_compiles.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>
#include <utility>

#include "base/clock.h"
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

// With the lock held: so that one of them sees when others have gone on for long.
void BackgroundCompiles::StartThreadIfAllAreBusy() {
  if (threads_.size() == under_way_.size() && !queue_.empty() && threads_.size() < most_threads_ + kThreadsInAddition)
    StartThread();
}

bool BackgroundCompiles::IsUnderWayFor(const void* client) const {
  return std::ranges::find(under_way_, client, &UnderWay::client) != under_way_.end();
}

// When, as things are, one may begin in addition: those that have not gone on for long by then have places left.
uint64_t BackgroundCompiles::AdditionAtNs() const {
  if (under_way_.size() < most_threads_) return 0;
  if (under_way_.size() >= most_threads_ + kThreadsInAddition) return ~0ull;
  return std::next(under_way_.begin(), static_cast<ptrdiff_t>(under_way_.size() - most_threads_))->since_ns + long_ns_;
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
    const auto before = std::ranges::find_if(
        queue_, [&](const Queued& queued) { return queued.job.key == job.key && !queued.IsWanted(); });
    if (before != queue_.end()) dropped.splice(dropped.begin(), queue_, before);  // of the same code
    if (queue_.size() >= kMost) {
      const auto unwanted = std::ranges::find_if_not(queue_, &Queued::IsWanted);
      if (unwanted != queue_.end()) dropped.splice(dropped.begin(), queue_, unwanted);
    }
    uint64_t turn = turn_;
    for (const Queued& queued : queue_) {
      if (queued.job.client == job.client) turn = std::max(turn, queued.turn + 1);
    }
    Queued queued{.job = std::move(job), .image = {}, .quick = {}, .turn = turn};
    queued.image = queued.job.image;
    queued.quick = std::exchange(queued.job.quick, nullptr);
    if (!MayKeep(*queued.job.image)) queued.job.image.reset();
    queue_.push_back(std::move(queued));
    StartThreadIfAllAreBusy();
  }
  changed_.notify_one();
}

// With the lock held: false if there is none that may begin.
bool BackgroundCompiles::Take(Job* job, Queue* dropped) {
  const bool in_addition = under_way_.size() >= most_threads_;
  if (in_addition && NowNs() < AdditionAtNs()) return false;
  auto next = queue_.end();
  for (auto each = queue_.begin(); each != queue_.end();) {
    const auto at = each++;
    if (at->image.expired()) {
      dropped->splice(dropped->end(), queue_, at);
      continue;
    }
    if (in_addition && IsUnderWayFor(at->job.client)) continue;
    if (std::ranges::find(under_way_, at->job.key, &UnderWay::key) != under_way_.end()) continue;  // it is there soon
    const auto rank = [](const Queued& queued) { return std::pair(!queued.IsWanted(), queued.turn); };
    if (next == queue_.end() || rank(*at) < rank(*next)) next = at;
  }
  if (next == queue_.end()) return false;
  turn_ = std::max(turn_, next->turn);
  *job = std::move(next->job);
  job->image = next->image.lock();
  job->quick = next->quick.lock();
  job->in_addition = in_addition;
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
      const uint64_t now_ns = NowNs(), at_ns = queue_.empty() ? ~0ull : AdditionAtNs();
      ++free_threads_;
      if (at_ns <= now_ns || at_ns == ~0ull) {  // what there is is for clients that have one under way
        changed_.wait(lock);
      } else {
        changed_.wait_for(lock, std::chrono::nanoseconds(at_ns - now_ns));
      }
      --free_threads_;
      continue;
    }
    auto own = under_way_.end();
    if (taken) {
      own = under_way_.insert(under_way_.end(), UnderWay{.key = job.key, .client = job.client, .since_ns = NowNs()});
      StartThreadIfAllAreBusy();
    }
    lock.unlock();
    if (taken) work_(job, stop_);
    job = {};
    dropped.clear();
    lock.lock();
    if (!taken) continue;
    under_way_.erase(own);
    changed_.notify_all();  // it may be for one of them only
  }
}

}  // namespace tutti::device
