// The executor that a Space has: none until it has started, and another one after one that was lost. Thread-safe.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "device/gpu/executor_link.h"

namespace tutti::device::gpu {

class CurrentExecutor {
 public:
  // Waits for one that is to come, asks it, and waits for the answer. Fails at once, with the reason, if none is to.
  Result<ExecutorLink::Reply> Ask(const executor::Request& request, int file = -1);

  // It has come.
  void Set(std::shared_ptr<ExecutorLink> executor);
  // There is none, and none is to come. It is killed.
  void Lose(const Error& why);
  // There is none, and one is to come: as in the beginning.
  void Await();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<ExecutorLink> executor_;
  std::optional<Error> lost_;
};

}  // namespace tutti::device::gpu
