// The devices of this node and their health. One writer (the daemon's keeper), many readers (a stream to the kubelet
// per resource). Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "sharing/offer.h"

namespace tutti::kubernetes {

class DeviceTable {
 public:
  struct State {
    uint64_t version = 0;  // grows with each change
    std::vector<sharing::DeviceFacts> devices;
    std::vector<std::string> ailments;  // by device; empty: healthy
  };

  // Known devices are never removed: one that the daemon no longer has becomes unhealthy.
  void Publish(const std::vector<sharing::DeviceFacts>& present);
  // All of them at once.
  void MarkAllSick(const std::string& why);
  // A single device, independently of the others.
  void MarkSick(const std::string& uuid, const std::string& why);

  State Get() const;
  // Blocks until the version differs from `version`, `until` has passed, or Wake is called.
  State WaitForChange(uint64_t version, std::chrono::steady_clock::time_point until) const;
  // Ends all current waits, for readers that have to check another condition.
  void Wake();

 private:
  void Set(size_t index, const std::string& ailment);

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  uint64_t wakes_ = 0;
  State state_;
};

}  // namespace tutti::kubernetes
