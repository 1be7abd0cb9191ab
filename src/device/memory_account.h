// How much of a device's memory is in use, also by groups of clients. One account per device, shared by all Spaces.
//
// A group is a set of clients with one limit on their sum: a namespace's, a cgroup's. The device and all groups grant a
// reservation together or not at all, under one lock: nothing that is granted exceeds a limit, and nothing is refused
// because of a concurrent reservation that fails itself.
//
// What clients have that have ended counts as free: it is released as soon as they are torn down, and who needs it
// before waits (server/departures.h).
//
// The device may have other servers, with accounts of their own: what all of them have together never exceeds it. One
// that is refused because another asks at the same moment tries again.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/memory_peers.h"

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
    for (int attempt = 1;; ++attempt) {
      const Answer answer = TryReserve(bytes, groups);
      if (answer != Answer::kDeviceFull || attempt == kMostAttempts || !OthersWereInTheWay(bytes)) return answer;
      peers_->Pause();
    }
  }
  // What is there already, whatever the limits are, until it is released: nothing is granted without room beside it.
  void Take(uint64_t bytes, const MemoryGroups& groups) {
    std::lock_guard lock(mutex_);
    for (const auto& group : groups) group->used_bytes += bytes;
    used_bytes_ += bytes;
    if (peers_ != nullptr) peers_->Exchange(used_bytes_);
  }
  void Release(uint64_t bytes, const MemoryGroups& groups) {
    std::lock_guard lock(mutex_);
    for (const auto& group : groups) group->used_bytes -= bytes;
    used_bytes_ -= bytes;
    if (peers_ != nullptr) peers_->Exchange(used_bytes_);
  }

  // The device's other servers, from now on; null: none. Outlives the account, or leaves it before.
  void Join(MemoryPeers* peers) {
    std::lock_guard lock(mutex_);
    peers_ = peers;
    if (peers_ == nullptr) return;
    peers_->Exchange(used_bytes_);
    peers_->SayLeaving(leaving_bytes_);
  }

  // So much of what this process's clients have is theirs who have ended.
  void SetLeaving(uint64_t bytes) {
    std::lock_guard lock(mutex_);
    leaving_bytes_ = bytes;
    if (peers_ != nullptr) peers_->SayLeaving(bytes);
  }

  // Of this process's clients, and of all of the device.
  uint64_t used_bytes() const { return used_bytes_; }
  uint64_t device_bytes() const {
    std::lock_guard lock(mutex_);
    const uint64_t own = used_bytes_ - std::min<uint64_t>(used_bytes_, leaving_bytes_);
    if (peers_ == nullptr) return std::min(total_bytes_, own);
    const uint64_t others = peers_->bytes(), leaving = peers_->leaving_bytes();
    return std::min(total_bytes_, own + others - std::min(others, leaving));
  }
  // What the device's other servers have, and what of it their ended clients.
  struct Others {
    uint64_t bytes = 0, leaving_bytes = 0;
  };
  Others others() const {
    std::lock_guard lock(mutex_);
    return peers_ == nullptr ? Others{} : Others{peers_->bytes(), peers_->leaving_bytes()};
  }
  uint64_t total_bytes() const { return total_bytes_; }

 private:
  static constexpr int kMostAttempts = 5;

  static bool Fits(uint64_t bytes, uint64_t used, uint64_t limit) { return used <= limit && bytes <= limit - used; }

  Answer TryReserve(uint64_t bytes, const MemoryGroups& groups) {
    std::lock_guard lock(mutex_);
    for (const auto& group : groups) {
      if (!Fits(bytes, group->used_bytes, group->hard_bytes)) return Answer::kGroupFull;
    }
    if (!Fits(bytes, used_bytes_, total_bytes_)) return Answer::kDeviceFull;
    const uint64_t sum = used_bytes_ + bytes;
    if (peers_ != nullptr && !Fits(peers_->Exchange(sum), sum, total_bytes_)) {
      peers_->Exchange(used_bytes_);
      return Answer::kDeviceFull;
    }
    for (const auto& group : groups) group->used_bytes += bytes;
    used_bytes_ = sum;
    return Answer::kGranted;
  }
  // Perhaps with a reservation that has failed as well.
  bool OthersWereInTheWay(uint64_t bytes) const {
    std::lock_guard lock(mutex_);
    return peers_ != nullptr && Fits(bytes, used_bytes_, total_bytes_);
  }

  const uint64_t total_bytes_;
  mutable std::mutex mutex_;
  MemoryPeers* peers_ = nullptr;
  std::atomic<uint64_t> used_bytes_{0};  // written under the lock
  uint64_t leaving_bytes_ = 0;
};

}  // namespace tutti::device
