// Keeps an executor ready for the next Space: the driver's context takes a good part of a second.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

#include "base/error.h"
#include "device/gpu/executor_process.h"
#include "os/spawner.h"

namespace tutti::device::gpu {

class Standby {
 public:
  explicit Standby(std::shared_ptr<os::Spawner> spawner);
  ~Standby();

  // Has one started. Thread-safe.
  void Prepare();
  // One that is ready, or the reason why there is none. Another one is then started. Fails at once when it is told to
  // stop. Thread-safe.
  Result<std::shared_ptr<ExecutorProcess>> Take(const std::stop_token& stop = {});

 private:
  void Run();

  const std::shared_ptr<os::Spawner> spawner_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  Result<std::shared_ptr<ExecutorProcess>> ready_;
  bool wanted_ = false;  // the thread is to start one
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace tutti::device::gpu
