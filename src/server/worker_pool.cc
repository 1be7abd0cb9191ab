#include "server/worker_pool.h"

#include <algorithm>

#include "os/thread.h"

namespace tutti::server {

WorkerPool::WorkerPool(std::string name, uint32_t max_threads) : name_(std::move(name)), max_threads_(max_threads) {
  std::lock_guard lock(mutex_);
  StartThread();
}

WorkerPool::~WorkerPool() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  // No thread ends by itself from here on.
  for (std::thread& thread : threads_) thread.join();
  for (std::thread& thread : ended_) thread.join();
}

bool WorkerPool::Add(uint32_t client, std::function<void()> task) {
  std::unique_lock lock(mutex_);
  Queue& queue = queues_[client];
  if (queue.tasks.size() >= kMaxWaiting) return false;
  queue.tasks.push_back(std::move(task));
  if (Runnable() > idle_ && (queue.running == 0 || threads_.size() < max_threads_)) {
    StartThread();
    if (threads_.empty()) {
      queues_.erase(client);
      return false;
    }
  }
  lock.unlock();  // a woken thread needs it
  wake_.notify_one();
  return true;
}

void WorkerPool::StartThread() {
  for (std::thread& thread : ended_) thread.join();
  ended_.clear();
  const auto self = threads_.emplace(threads_.end());
  *self = os::TryStartThread(name_, [this, self] { Run(self); });
  if (self->joinable()) {
    ++idle_;
  } else {
    threads_.erase(self);
  }
}

size_t WorkerPool::Runnable() const {
  size_t count = 0;
  for (const auto& [client, queue] : queues_) count += std::min<size_t>(queue.tasks.size(), kPerClient - queue.running);
  return count;
}

std::function<void()> WorkerPool::Take(uint32_t* client) {
  auto it = queues_.upper_bound(last_);
  for (size_t i = 0; i < queues_.size(); ++i, ++it) {
    if (it == queues_.end()) it = queues_.begin();
    Queue& queue = it->second;
    if (queue.tasks.empty() || queue.running >= kPerClient) continue;
    auto task = std::move(queue.tasks.front());
    queue.tasks.pop_front();
    ++queue.running;
    *client = last_ = it->first;
    return task;
  }
  return nullptr;
}

void WorkerPool::Run(Threads::iterator self) {
  std::unique_lock lock(mutex_);  // the starter holds it until `self` is set
  for (;;) {
    uint32_t client = 0;
    std::function<void()> task;
    while (!stop_ && !(task = Take(&client))) {
      if (threads_.size() > max_threads_) {
        --idle_;
        ended_.splice(ended_.end(), threads_, self);
        return;
      }
      wake_.wait(lock);
    }
    if (stop_) return;
    --idle_;
    lock.unlock();
    task();
    task = nullptr;  // destroying its captures may take long, too
    lock.lock();
    ++idle_;
    const auto it = queues_.find(client);
    if (--it->second.running == 0 && it->second.tasks.empty())
      queues_.erase(it);
    else
      wake_.notify_one();
  }
}

}  // namespace tutti::server
