// Executors that several Spaces have places in: who gets into which (device/gpu/executor_source.h).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "base/error.h"
#include "device/gpu/executor_link.h"

namespace tutti::device::gpu {

// Thread-safe.
class SharedExecutors {
 public:
  // A place in a new executor. Waits for one, and fails at once when it is told to stop.
  using EnterNew = std::function<Result<std::shared_ptr<ExecutorLink>>(const std::stop_token&)>;
  explicit SharedExecutors(EnterNew enter_new) : enter_new_(std::move(enter_new)) {}

  // A place, with that slot, in an executor that has one free for the group, or in a new one. Of those of a group that
  // find none, one has an executor started, and the others wait for it.
  Result<std::shared_ptr<ExecutorLink>> Enter(const std::string& group, uint32_t slot, const std::stop_token& stop);
  // It has been given a place in a new executor already.
  void Add(const std::string& group, uint32_t slot, const ExecutorLink& link);

 private:
  struct Executor {
    std::weak_ptr<ExecutorProcess> process;
    std::map<uint32_t, PlaceEnd> places;  // by slot
  };
  void AddLocked(const std::string& group, uint32_t slot, const ExecutorLink& link);
  void ForgetWhatIsOver();
  std::shared_ptr<ExecutorLink> Find(const std::string& group, uint32_t slot);

  const EnterNew enter_new_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, std::vector<Executor>> executors_;  // by group
  std::set<std::string> starting_;  // groups
};

}  // namespace tutti::device::gpu
