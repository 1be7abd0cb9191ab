// Threads for tasks that may take seconds (loading modules, preparing kernels, resets, tearing down a dead client's
// space), or as long as their client's executor likes. Fair between clients: tasks are taken round-robin over clients,
// no client has more than kPerClient running, and if others occupy all threads, a client with none running gets an
// extra thread, which ends when there is nothing to do.
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

// Thread-safe. The first thread starts at once, so that a server which later reaches its limits still has one; the
// others start on demand. The destructor drops queued tasks and waits for running ones.
class WorkerPool {
 public:
  static constexpr uint32_t kPerClient = 2;
  static constexpr size_t kMaxWaiting = 1024;  // tasks per client

  WorkerPool(std::string name, uint32_t max_threads);
  ~WorkerPool();

  // Drops the task and returns false if the client already has kMaxWaiting tasks queued (no correct one ever has), or
  // if the system has never had room for a thread.
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
  size_t Runnable() const;  // tasks that could start if there were threads
  std::function<void()> Take(uint32_t* client);  // the next task, or null

  std::string name_;
  uint32_t max_threads_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::map<uint32_t, Queue> queues_;
  uint32_t last_ = 0;  // the client that was served last
  // threads that wait or are about to look for a task, including new and just woken ones
  uint32_t idle_ = 0;
  bool stop_ = false;
  Threads threads_;
  Threads ended_;  // to be joined
};

}  // namespace tutti::server
