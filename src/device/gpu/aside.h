// A thread of one Space for what waits for its executor, so that the threads that serve all clients do not.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "base/error.h"

namespace tutti::device::gpu {

// Thread-safe.
class Aside {
 public:
  Aside() = default;
  ~Aside() { Stop(); }

  // Once, before the first Post. Fails if the system has no room for a thread.
  Status Start();
  // Has the thread run it, behind what it has been given before.
  void Post(std::function<void()> work);
  // The same, not before that time has passed. Wait does not wait for it.
  void PostIn(std::chrono::milliseconds time, std::function<void()> work);
  // Waits until all that it has been given so far is done. Not on that thread.
  void Wait();
  // Drops what has not begun, and waits for what has. Nothing more is run.
  void Stop();

 private:
  void Run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  std::multimap<std::chrono::steady_clock::time_point, std::function<void()>> later_;
  uint64_t posted_ = 0, done_ = 0;  // of waiting_
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace tutti::device::gpu
