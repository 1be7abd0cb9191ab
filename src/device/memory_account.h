// How much of a device's memory is in use, also by groups of clients. One account per device, shared by all Spaces.
//
// A group is a set of clients with one limit on their sum: a namespace's, a cgroup's. The device and all groups grant a
// reservation together or not at all, under one lock: nothing ever exceeds a limit, and nothing is refused because of a
// concurrent reservation that fails itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tutti::device {

inline constexpr uint64_t kNoMemoryLimit = ~0ull;

// On one device. Thread-safe to read; `used_bytes` is written under the account's lock.
struct MemoryGroup {
  MemoryGroup(std::string group_name, uint32_t on_device) : name(std::move(group_name)), device(on_device) {}

  const std::string name;
  const uint32_t device;
  std::atomic<uint64_t> hard_bytes{kNoMemoryLimit};  // never more than this
  std::atomic<uint64_t> soft_bytes{kNoMemoryLimit};  // more is borrowed: may have to be given back
  std::atomic<uint64_t> used_bytes{0};
};
using MemoryGroups = std::vector<std::shared_ptr<MemoryGroup>>;

// Thread-safe.
class MemoryAccount {
 public:
  explicit MemoryAccount(uint64_t total_bytes) : total_bytes_(total_bytes) {}

  enum class Answer { kGranted, kDeviceFull, kGroupFull };
  // `groups` are of this device.
  Answer Reserve(uint64_t bytes, const MemoryGroups& groups) {
    std::lock_guard lock(mutex_);
    for (const auto& group : groups) {
      if (!Fits(bytes, group->used_bytes, group->hard_bytes)) return Answer::kGroupFull;
    }
    if (!Fits(bytes, used_bytes_, total_bytes_)) return Answer::kDeviceFull;
    for (const auto& group : groups) group->used_bytes += bytes;
    used_bytes_ += bytes;
    return Answer::kGranted;
  }
  void Release(uint64_t bytes, const MemoryGroups& groups) {
    std::lock_guard lock(mutex_);
    for (const auto& group : groups) group->used_bytes -= bytes;
    used_bytes_ -= bytes;
  }

  uint64_t used_bytes() const { return used_bytes_; }
  uint64_t total_bytes() const { return total_bytes_; }

 private:
  static bool Fits(uint64_t bytes, uint64_t used, uint64_t limit) { return used <= limit && bytes <= limit - used; }

  const uint64_t total_bytes_;
  std::mutex mutex_;
  std::atomic<uint64_t> used_bytes_{0};  // written under the lock
};

}  // namespace tutti::device
