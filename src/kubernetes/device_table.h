// The devices of this node as the plugin knows them, and whether each is healthy. One writer (the daemon's keeper),
// many readers (a stream to the kubelet for each resource). Thread-safe.
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

  // Devices once known never go away: one that the daemon no longer has is sick.
  void Publish(const std::vector<sharing::DeviceFacts>& present);
  // All of them at once.
  void MarkAllSick(const std::string& why);
  // One of them, whatever the others are.
  void MarkSick(const std::string& uuid, const std::string& why);

  State Get() const;
  // Returns when the version differs from `version`, or `until` has passed, or Wake was called.
  State WaitForChange(uint64_t version, std::chrono::steady_clock::time_point until) const;
  // Ends all waits that are going on, for readers that have to look at something else.
  void Wake();

 private:
  void Set(size_t index, const std::string& ailment);

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  uint64_t wakes_ = 0;
  State state_;
};

}  // namespace tutti::kubernetes
