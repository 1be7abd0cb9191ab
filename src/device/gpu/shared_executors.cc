#include "device/gpu/shared_executors.h"

#include <algorithm>
#include <utility>

#include "cuda/result.h"

namespace tutti::device::gpu {

// A place of which the end is not known yet keeps its slot.
void SharedExecutors::ForgetWhatIsOver() {
  for (auto& [group, executors] : executors_) {
    std::erase_if(executors, [](const Executor& executor) {
      const auto process = executor.process.lock();
      return process == nullptr || !process->takes_clients();
    });
    for (Executor& executor : executors)
      std::erase_if(executor.places, [](const auto& place) { return place.second.IsOver(); });
  }
  std::erase_if(executors_, [](const auto& group) { return group.second.empty(); });
}

std::shared_ptr<ExecutorLink> SharedExecutors::Find(const std::string& group, uint32_t slot) {
  ForgetWhatIsOver();
  const auto found = executors_.find(group);
  if (found == executors_.end()) return nullptr;
  for (Executor& executor : found->second) {
    if (executor.places.contains(slot)) continue;
    const auto process = executor.process.lock();
    if (process == nullptr) continue;
    auto entered = ExecutorLink::Enter(process);
    if (!entered) continue;
    std::shared_ptr<ExecutorLink> link = std::move(*entered);
    executor.places.emplace(slot, link->end());
    return link;
  }
  return nullptr;
}

Result<std::shared_ptr<ExecutorLink>> SharedExecutors::Enter(const std::string& group, uint32_t slot,
                                                             const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (auto link = Find(group, slot)) return link;
    if (!starting_.contains(group)) break;
    if (!changed_.wait(lock, stop, [&] { return !starting_.contains(group); }))
      return Fail(cuda::CUDA_ERROR_CONTEXT_IS_DESTROYED, "who waits for an executor has gone");
  }
  starting_.insert(group);
  lock.unlock();
  auto entered = enter_new_(stop);
  lock.lock();
  starting_.erase(group);
  changed_.notify_all();
  if (entered) AddLocked(group, slot, **entered);
  return entered;
}

void SharedExecutors::Add(const std::string& group, uint32_t slot, const ExecutorLink& link) {
  std::lock_guard lock(mutex_);
  AddLocked(group, slot, link);
}

void SharedExecutors::AddLocked(const std::string& group, uint32_t slot, const ExecutorLink& link) {
  auto& of_group = executors_[group];
  of_group.push_back({.process = link.executor(), .places = {}});
  of_group.back().places.emplace(slot, link.end());
}

}  // namespace tutti::device::gpu
