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

  // Has it unmap memory. One that does not is lost: others may be given the memory next, and these addresses.
  void Unmap(uint64_t address, uint64_t bytes);

  // It is being made ready: nobody asks it here yet, and Lose has it killed.
  void Expect(std::shared_ptr<ExecutorLink> executor);
  // The one that was expected has come.
  void Arrive();
  // There is none, and none is to come. It is killed. The first reason counts.
  void Lose(const Error& why);
  // There is none, and one is to come: as in the beginning.
  void Await();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<ExecutorLink> expected_, executor_;
  std::optional<Error> lost_;
};

}  // namespace tutti::device::gpu
