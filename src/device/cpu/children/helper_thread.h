// A thread for what may take seconds and must not hold up an SM: it starts with the first job and does one after the
// other. Thread-safe.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace tutti::device::cpu {

class HelperThread {
 public:
  ~HelperThread() { Stop(); }

  // False if the system has no thread for it, or it has been stopped.
  bool Add(std::function<void()> job);
  // Drops jobs that have not begun, and waits for the one that has.
  void Stop();

 private:
  void Loop();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace tutti::device::cpu
