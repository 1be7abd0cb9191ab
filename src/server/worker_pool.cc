#include "server/worker_pool.h"

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
  for (std::thread& thread : threads_) thread.join();
}

bool WorkerPool::Add(uint32_t client, std::function<void()> task) {
  std::lock_guard lock(mutex_);
  Queue& queue = queues_[client];
  if (queue.tasks.size() >= kMaxWaiting) return false;
  queue.tasks.push_back(std::move(task));
  if (idle_ == 0 && threads_.size() < max_threads_) {
    StartThread();
    if (threads_.empty()) {
      queues_.erase(client);
      return false;
    }
  }
  wake_.notify_one();
  return true;
}

// Lock held.
void WorkerPool::StartThread() {
  std::thread thread = os::TryStartThread(name_, [this] { Run(); });
  if (thread.joinable()) threads_.push_back(std::move(thread));
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

void WorkerPool::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    uint32_t client = 0;
    std::function<void()> task;
    while (!stop_ && !(task = Take(&client))) {
      ++idle_;
      wake_.wait(lock);
      --idle_;
    }
    if (stop_) return;
    lock.unlock();
    task();
    task = nullptr;  // what it holds on to may take long to destroy, too
    lock.lock();
    const auto it = queues_.find(client);
    if (--it->second.running == 0 && it->second.tasks.empty())
      queues_.erase(it);
    else
      wake_.notify_one();
  }
}

}  // namespace tutti::server
