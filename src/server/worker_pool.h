// Threads for what may take seconds: loading modules, preparing kernels, resets, taking a dead client's space down.
// Fair between clients: their tasks are taken in turn, no client has more than kPerClient running, and where those of
// others take all threads a client that has none running gets a thread in addition, which ends when there is nothing to
// do.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace tutti::server {

// Thread-safe. The first thread starts at once, so that a server which gets to its limits later still has one; the
// others when they are needed. The destructor drops what has not begun and waits for what has.
class WorkerPool {
 public:
  static constexpr uint32_t kPerClient = 2;
  static constexpr size_t kMaxWaiting = 1024;  // tasks per client
  static constexpr size_t kMostThreads = 64;  // with those in addition

  WorkerPool(std::string name, uint32_t max_threads);
  ~WorkerPool();

  // False if the client has kMaxWaiting tasks waiting already (no well-behaved one ever has), or if the system has
  // never had room for a thread. The task is dropped then.
  [[nodiscard]] bool Add(uint32_t client, std::function<void()> task);

 private:
  struct Queue {
    std::deque<std::function<void()>> tasks;
    uint32_t running = 0;
  };

  using Threads = std::list<std::thread>;

  void Run(Threads::iterator self);
  // With the lock held:
  void StartThread();
  size_t Runnable() const;  // tasks that could begin, were there threads
  std::function<void()> Take(uint32_t* client);  // the next task in turn, or null

  std::string name_;
  uint32_t max_threads_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::map<uint32_t, Queue> queues_;
  uint32_t last_ = 0;  // the client that was served last
  // threads that are about to look for a task, or wait for one: new ones, and who has been woken, too
  uint32_t idle_ = 0;
  bool stop_ = false;
  Threads threads_;
  Threads ended_;  // to be joined
};

}  // namespace tutti::server
