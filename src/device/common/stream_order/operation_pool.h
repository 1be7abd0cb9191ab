// The operations of one Space: those in streams, counted by weight (wire/backlog.h), and a free list. The backlog of a
// few streams, as libraries allow it, is always admitted; anything beyond counts as the client's host memory, or many
// clients together could have the system kill their server. Guarded by the Space's lock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "device/common/stream_order/operation.h"
#include "device/host_share.h"
#include "wire/backlog.h"

namespace tutti::device {

// The backlog is not counted byte by byte: about a KiB per unit of weight. A server with little memory for its clients
// allows a smaller backlog, but never less than libraries allow in a few streams.
inline uint32_t MostBacklog(uint64_t host_bytes) {
  constexpr uint64_t kBytes = 1024;
  const uint64_t most = std::clamp<uint64_t>(host_bytes / kBytes, 2 * wire::kSharedBacklog, wire::kMostBacklog);
  return static_cast<uint32_t>(most);
}

class OperationPool {
 public:
  using Make = Operation* (*)();  // by new

  // `most`: bound on the weight in streams. `host` outlives it.
  OperationPool(Make make, uint32_t most, HostShare* host)
      : make_(make), most_(most), host_(host), room_(std::min(most, kFree)) {}
  ~OperationPool() {
    while (free_ != nullptr) delete std::exchange(free_, free_->next);
  }
  // Null if there are too many.
  Operation* Get(uint32_t weight) {
    if (weight > room_ - weight_ && !MakeRoom(weight)) return nullptr;
    Operation* operation = free_;
    if (operation != nullptr) {
      free_ = operation->next;
      --free_count_;
    } else {
      operation = make_();
    }
    operation->weight = weight;
    weight_ += weight;
    return operation;
  }
  void Put(Operation* operation) {
    weight_ -= operation->weight;
    if (room_ > kFree && room_ - weight_ >= 2 * kStep) GiveRoom();
    if (free_count_ == kMostFree || operation->arguments.capacity() > kMostKeptBytes) return Discard(operation);
    ++free_count_;
    operation->next = free_;
    free_ = operation;
  }

 private:
  // Enough for a client that runs as far ahead of its device as it may.
  static constexpr uint32_t kMostFree = wire::kStreamBacklog;
  static constexpr size_t kMostKeptBytes = 1024;

  static constexpr uint32_t kFree = 2 * wire::kSharedBacklog;
  static constexpr uint32_t kStep = 16 << 10;
  static constexpr uint64_t kBytesOfWeight = 1024;  // about: an operation, and its arguments by the KiB

  [[gnu::noinline]] static void Discard(Operation* operation) { delete operation; }
  [[gnu::noinline]] bool MakeRoom(uint32_t weight) {
    const uint32_t more = std::min(most_ - room_, kStep);
    if (weight > room_ + more - weight_ || !host_->Reserve(more * kBytesOfWeight)) return false;
    room_ += more;
    return true;
  }
  [[gnu::noinline]] void GiveRoom() {
    const uint32_t less = std::min(room_ - kFree, kStep);
    host_->Release(less * kBytesOfWeight);
    room_ -= less;
  }

  const Make make_;
  const uint32_t most_;
  HostShare* const host_;
  uint32_t room_;  // admitted weight that needs no reservation
  uint32_t weight_ = 0;  // in streams
  Operation* free_ = nullptr;
  uint32_t free_count_ = 0;
};

}  // namespace tutti::device
